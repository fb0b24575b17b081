/* A link between two namespaces, and what can make one: netem or our own emulator. */
#ifndef LINK_BACKEND_H
#define LINK_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "link/ends.h"
#include "link/profile.h"
#include "link/space.h"

/* Returned besides 0 and -1: this machine can't do it; the error says what would mend that. */
#define LINK_UNSUPPORTED (-77)

/* Exact with tun. With netem the sum of lost and dropped is; netem counts both as one, so
 * `lost` is what the loss setting explains of it, except that a queue bounded in bytes counts
 * its own drops exactly. netem does not count the copies that `duplicate` makes: with it
 * `packets` is what is to be expected, else exact. */
struct link_counters {
	int64_t packets[DIRECTIONS]; /* offered */
	int64_t lost[DIRECTIONS];    /* by the loss setting */
	int64_t dropped[DIRECTIONS]; /* by a full queue of the link */
	int64_t missed[DIRECTIONS];  /* outside the link: the machine had no room for them */
	/* Where the backend can tell. */
	int64_t duplicated[DIRECTIONS], corrupted[DIRECTIONS], reordered[DIRECTIONS];
};

struct link {
	/* Set by the caller. */
	const struct backend *backend;
	const struct profile *profile;
	uint64_t seed;
	struct space space[ENDS];
	const struct end_address *ends; /* [ENDS]; end_addresses, unless it is numbered */
	void (*info)(const char *name, const char *text); /* told what is in force */
	/* Owned by the backend. */
	void *state;
};

/* All of these may change the process's network namespace. */
struct backend {
	const char *name;
	/* Make the link and shape it. After a failure close() has nothing left to do. */
	int (*open)(struct link *link, struct err *err);
	/* Carry packets until `stop_fd` can be read; -1 when the link breaks. */
	int (*run)(struct link *link, int stop_fd, struct err *err);
	/* Start the clock of the profile's changes, or (not `runs`) undo them. NULL: this one
	 * makes no link that changes. */
	void (*clock)(struct link *link, bool runs);
	/* What happened so far, and `info` on how well; -1 when the link is no longer there. */
	int (*count)(struct link *link, struct link_counters *counters, struct err *err);
	/* Remove the link. */
	void (*close)(struct link *link);
};

extern const struct backend backend_netem;
extern const struct backend backend_tun;

/* Make a link with this backend between two namespaces made for it, in a child. 0 when that
 * works here; else *err says why not and what would mend it. */
int backend_try(const struct backend *backend, struct err *err);

/* Tell link->info, printf-like. */
void link_info(const struct link *link, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
