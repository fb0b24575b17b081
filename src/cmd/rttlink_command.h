/* `rttlink run`: the processes of a command behind a link. */
#ifndef CMD_RTTLINK_COMMAND_H
#define CMD_RTTLINK_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct backend;
struct profile;

struct command_plan {
	const struct backend *backend;
	const struct profile *profile;
	uint64_t seed;
	char *const *command; /* ends with NULL */
	const char *server;   /* for sh -c at the far end, or NULL */
	bool local;           /* go no further than the far end */
	bool verbose;         /* tell stderr */
};

/* Run the command to its end. Returns its exit status (128 + signal when one killed it); -1 or
 * LINK_UNSUPPORTED when there was no link for it, or no longer. */
int command_run(const struct command_plan *plan, struct err *err);

#endif
