/* An independent measurement of the link: UDP echo with both ends in this process, so that one
 * clock also gives the two ways apart. */
#ifndef LINK_ECHO_H
#define LINK_ECHO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "link/ends.h"
#include "link/space.h"

struct echo_plan {
	const struct space *space;      /* of each end: [ENDS] */
	const struct end_address *ends; /* their addresses: [ENDS] */
	int family;                     /* AF_INET or AF_INET6 */
	int core;                       /* to run on from now on; -1: any */
	int64_t warmup;                 /* exchanges ahead of the count that are not reported */
	int64_t count;
	int64_t interval_ns; /* from one sending to the next */
	bool one_at_a_time;  /* … but from a reply to the next sending */
	bool stamped;        /* a packet arrives when the kernel has it, not when we read it */
	int64_t deadline_ns; /* absolute */
};

struct echo_sample {
	int64_t up_ns, down_ns; /* 0, 0: lost */
};

struct echo_result {
	int64_t received; /* of those that count */
	int64_t first_ns; /* round trip of the very first, warm-up or not; 0: lost */
};

/* Run the plan. `samples` has room for plan->count. Those that count begin only when one that
 * warms up came back (or none did for 3 s): on a cold link they would all wait for the
 * neighbour. Replies are awaited for twice the longest round trip and 100 ms after the last
 * sending, or until the deadline if none came at all. -1 only when the sockets can't be made or
 * used. */
int echo_run(const struct echo_plan *plan, struct echo_sample *samples,
	struct echo_result *result, struct err *err);

#endif
