/* Which link backends this machine can do, as `rttlink backends` finds out by trying. */
#ifndef RUN_BACKENDS_H
#define RUN_BACKENDS_H

#include <stdbool.h>

#include "base/err.h"

struct backend_answer {
	bool works;
	char reason[ERR_TEXT_SIZE]; /* why not, and what mends it */
};

struct backends {
	struct backend_answer netem, tun;
};

/* Ask. -1 when rttlink itself cannot be run. */
int backends_ask(const char *bin, struct backends *backends, struct err *err);

/* The backend to use for "auto", "netem" or "tun"; `why` gets a line that says which and why.
 * NULL with the reason when it (or, for auto, none) works. */
const char *backends_choose(
	const struct backends *backends, const char *name, struct err *why, struct err *err);

#endif
