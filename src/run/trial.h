/* One execution of what is checked to keep its contract: started, awaited, its last words. It
 * is a program, or a `docker run` with a container behind it, which is removed with it. What it
 * says on stderr is kept in memory: nothing of a check is left on disk. */
#ifndef RUN_TRIAL_H
#define RUN_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "run/child.h"
#include "run/command.h"

/* Initialise with TRIAL_INIT; release with trial_free(). Must stay where it is. */
struct trial {
	struct child child;
	struct buf err; /* its stderr, once it ended */
	int log_fd;
	char *container; /* the name of its container; NULL: none, it is a program here */
	int64_t start_ns, took_ns; /* took_ns: to the end of the last await */
	enum child_event event;    /* what that await ended with */
};

#define TRIAL_INIT                                                                             \
	{                                                                                      \
		.child = CHILD_INIT, .log_fd = -1                                              \
	}

/* Start it; `what` is for messages ("run"). -1 when it could not be started. */
int trial_start(
	struct trial *trial, const char *what, const struct command *command, struct err *err);

/* The same with a specification of its own, whose log is filled in. */
int trial_start_as(
	struct trial *trial, const char *what, struct child_spec *spec, struct err *err);

/* Wait until it has ended or, with `ready`, printed a ready line; at most `limit_ns` from now.
 * `other` (may be NULL) must live meanwhile. What came is in trial->event. */
void trial_await(struct trial *trial, struct trial *other, bool ready, int64_t limit_ns);

/* SIGTERM. False when it had not ended by itself `grace_ns` later and was killed. */
bool trial_stop(struct trial *trial, int64_t grace_ns);

/* The status of a container engine that could not run what it was to. */
#define TRIAL_ENGINE 125     /* whatever is in the image */
#define TRIAL_NO_EXEC 126    /* its entry point cannot be executed */
#define TRIAL_NO_PROGRAM 127 /* its entry point is not there */

/* Was there no execution, because the engine could not start the container? One of the above,
 * or 0. */
int trial_unstarted(const struct trial *trial);

/* Did it end, by itself, with this status? */
bool trial_ended(const struct trial *trial, int status);

/* Say how it ended, with the last line of its stderr, or that it did not. Always -1. */
int trial_tell(const struct trial *trial, struct err *err);

/* Read what it has said on stderr so far. trial_await() and trial_stop() do. */
void trial_read_words(struct trial *trial);

/* The last line of its stderr; free() it. */
char *trial_reason(const struct trial *trial);

/* End it and all it started, however hidden. Trials below us must be released together. */
void trial_free(struct trial *trial);

#endif
