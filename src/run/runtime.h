/* A runtime: what isolates the two halves of a pair. */
#ifndef RUN_RUNTIME_H
#define RUN_RUNTIME_H

#include <stdbool.h>

#include "base/err.h"

/* Where the halves of one pair live: descriptors of network namespaces, -1 for the present one.
 * A loopback cell has both halves at `near`. */
struct place {
	int near; /* the client's */
	int far;  /* the server's */
};

struct runtime {
	const char *name;
	bool links; /* can it put a link between the halves? */
	/* Fresh places for one turn; -1: nothing was made. */
	int (*open)(bool linked, struct place *place, struct err *err);
	void (*close)(struct place *place);
};

extern const struct runtime runtime_netns, runtime_host;

/* Choose by name or, for "auto", the first that this machine can do; prepared. `why` gets one
 * line that says which and why. NULL with the reason when there is none. */
const struct runtime *runtime_choose(const char *name, struct err *why, struct err *err);

#endif
