/* One end's sockets by TCP state, looked at over and over while a probe runs.
 *
 * A thread takes the census (net/census.h) every few milliseconds, but spends at most a tenth
 * of its time on it; the half itself looks too, at moments that matter. What is kept is the
 * most sockets seen at once in each state, and what the last look saw. A state that lasts less
 * than the time between two looks may be missed; how many ever went into TIME_WAIT is the
 * kernel's own count. */
#ifndef PROBE_WATCH_H
#define PROBE_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"
#include "net/census.h"

enum watch_end { WATCH_CLIENT, WATCH_SERVER };

struct watch {
	enum watch_end end;
	int64_t every_ns; /* from one look to the next */
	bool show;        /* a line on stderr for each look that saw something else */

	/* Kept by the watch; to be read once it has stopped. */
	struct addr server;
	int64_t peak[CENSUS_STATES], now[CENSUS_STATES];
	int64_t looks;
	int64_t entered; /* TIME_WAIT, by the kernel's count for all of this namespace */
	int64_t open_ns; /* when a socket was last seen that was neither LISTEN nor TIME_WAIT */
	int64_t empty_ns; /* since when none is left in TIME_WAIT either; 0: some are */
	const char *source;
	int64_t start_ns;
	bool stopping, failed;
	struct err why;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	pthread_t thread;
	bool started;
};

/* Begin to look at the sockets of this end of the connections to `server`. */
int watch_start(struct watch *watch, const struct addr *server, struct err *err);

/* Look now. */
int watch_look(struct watch *watch, struct err *err);

/* Look until no socket is in any state but LISTEN and TIME_WAIT, two seconds at most. Then, for
 * `drain_ns`, go on until none is in TIME_WAIT either (`all`: for all of that time). Never
 * beyond the deadline. */
int watch_drain(
	struct watch *watch, int64_t drain_ns, bool all, int64_t deadline_ns, struct err *err);

/* Stop the thread, and look one last time. -1 when that or any look before failed. */
int watch_stop(struct watch *watch, struct err *err);

/* The records: a count for each state this end can be in, and what is left. */
void watch_print(const struct watch *watch);

#endif
