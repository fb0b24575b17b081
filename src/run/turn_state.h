/* What one turn knows while it runs, and the moves its steps are made of. Internal to the turn.
 */
#ifndef RUN_TURN_STATE_H
#define RUN_TURN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "run/child.h"
#include "run/command.h"
#include "run/runtime.h"
#include "run/turn.h"

enum echo_time { ECHO_BEFORE, ECHO_AFTER, ECHO_TIMES };

struct turn_state {
	const struct turn_plan *plan;
	char *folder;
	struct place place;
	struct child agent, link, server, client;
	struct buf echo[ECHO_TIMES]; /* what `rttlink check` printed */
	int64_t start_ns, client_start_ns;
	int64_t client_ns, check_ns; /* spent in the client, in link checks */
	enum cell_status status;
	struct err reason; /* of a status that is not ok */
	bool off_target;   /* the link was there, but not what the profile says */
	bool stopped;      /* a signal told us to */
};

bool turn_linked(const struct turn_state *turn);

/* Remove what processes of an interrupted try wrote to stderr: logs are appended to, and their
 * last words would be taken for this one's. */
void turn_forget_logs(const struct turn_state *turn);

/* Note what went wrong, if nothing did before. Always -1. */
int turn_fail(struct turn_state *turn, enum cell_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a child that ended when or how it should not have, with its last words. */
int turn_fail_exit(struct turn_state *turn, const struct child *child);

/* Start a process of the turn, whose arguments are `words`, where the runtime has it; its
 * stderr goes to ROLE.log in the turn's folder. Takes `words` over. */
int turn_start(
	struct turn_state *turn, struct child *child, enum role role, struct command *words);

/* Wait until `target` is ready (or has ended well), while watching the agent, the link and the
 * server that it needs; `grace_ns` longer than the `limit_ns` it was told to take. */
int turn_await(struct turn_state *turn, struct child *target, bool ready, int64_t limit_ns,
	int64_t grace_ns);

/* All records, then outcome.txt: a folder without one was interrupted and does not count. */
int turn_write_records(const struct turn_state *turn, struct err *err);

#endif
