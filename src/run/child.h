/* The processes of one pair: started in their namespaces, listened to, and never left behind.
 * Each leads a process group of its own; what is left of the group when it ends is killed. */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define CHILD_OUTPUT_MAX ((size_t)64 << 20) /* about 2,000,000 samples; more is a fault */
#define CHILD_NS_FIRST 3 /* descriptors that a child with `pass_ns` finds its namespaces at */

struct child_spec {
	const char *const *argv; /* argv[0] is a path, or a name in PATH */
	int netns;               /* namespace to start in; -1: ours */
	int pass_ns[2];          /* descriptors handed on as 3 and 4; -1: none */
	const char *log;         /* file that gets its stderr */
	bool hold_stdin; /* it gets a pipe that ends when child_free() is called or we are gone;
			    else /dev/null */
};

#define CHILD_SPEC                                                                             \
	{                                                                                      \
		.netns = -1, .pass_ns = { -1, -1 }                                             \
	}

/* Initialise one that may never be started with CHILD_INIT. */
struct child {
	const char *what; /* "client", for messages */
	pid_t pid;        /* 0: not started */
	int pidfd;
	int out_fd;     /* our end of its stdout; -1 once it ended */
	int in_fd;      /* our end of its stdin; -1: none */
	struct buf out; /* all it printed so far */
	bool overflow;  /* it printed more than CHILD_OUTPUT_MAX and was killed */
	bool exited;
	int status; /* 0..255, 128 + signal; once exited */
};

#define CHILD_INIT                                                                             \
	{                                                                                      \
		.pidfd = -1, .out_fd = -1, .in_fd = -1                                         \
	}

enum child_event {
	CHILD_READY,        /* the target printed a `ready` line */
	CHILD_EXITED,       /* the target ended, all its output is read */
	CHILD_TIMEOUT,      /* the deadline passed */
	CHILD_OTHER_EXITED, /* another child of the set ended, which nobody had asked it to */
	CHILD_STOPPED,      /* we were told to stop by a signal, see child_catch_stop() */
};

/* Start it. `child` must stay where it is until child_stop(). -1: nothing was started. */
int child_start(
	const struct child_spec *spec, const char *what, struct child *child, struct err *err);

/* Read what the `count` children print until `target` is ready (if `ready`) or has ended. */
enum child_event child_wait(struct child *const set[], size_t count, struct child *target,
	bool ready, int64_t deadline_ns);

/* SIGTERM, wait up to `grace_ns` while reading the rest of its output, then SIGKILL. Harmless
 * on a child that was never started. True when it ended by itself in time. */
bool child_stop(struct child *child, int64_t grace_ns);

/* Write `words` to the stdin that `hold_stdin` gave it. */
int child_tell(const struct child *child, const char *words, struct err *err);

/* End the stdin that `hold_stdin` gave it, if it has one. */
void child_end_input(struct child *child);

/* Close and free; stops it first, at once, if it still runs. */
void child_free(struct child *child);

/* Take over whatever a child of ours leaves behind when it ends, however it hid: a daemon of a
 * foreign probe too. For a process of its own; see child_end_strays(). */
void child_adopt_strays(void);

/* Kill and reap every process that is still below us. */
void child_end_strays(void);

/* The text behind "ready " in what it printed; "" if none. Points into a static buffer. */
const char *child_ready_text(const struct child *child);

/* From now on SIGTERM, SIGINT and SIGHUP make child_wait() return CHILD_STOPPED; those that
 * were ignored (nohup) stay so. */
void child_catch_stop(void);
bool child_stop_asked(void);

#endif
