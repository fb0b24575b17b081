/* When a loop that serves two directions may sleep, and how long it stood still. */
#ifndef LINK_PACE_H
#define LINK_PACE_H

#include <stdint.h>

#include "base/clock.h"

/* What counts as a stall: more than waking takes on a machine that has a core to give (at most
 * 0.7 ms as SCHED_FIFO, 5 ms without), about what a busy one makes a process wait for its turn.
 */
#define STALL_NS (5 * NS_PER_MS)

/* How long the loop stood still, unable to see a packet that came. */
struct stalls {
	int64_t max_ns; /* the longest, counted or not */
	int64_t count;  /* longer than STALL_NS */
};

struct pace {
	int64_t look_ns; /* when the next turn has to begin */
	struct stalls stalls;
};

/* The first turn begins. The stalls so far stay. */
static inline void
pace_begin(struct pace *pace, int64_t now_ns)
{
	pace->look_ns = now_ns;
}

/* We are awake at `now_ns`: is that when we should be? The next turn has to begin at once. */
static inline void
pace_note(struct pace *pace, int64_t now_ns)
{
	int64_t stall_ns = now_ns - pace->look_ns;

	if (stall_ns > pace->stalls.max_ns)
		pace->stalls.max_ns = stall_ns;
	pace->stalls.count += stall_ns > STALL_NS;
	pace->look_ns = now_ns;
}

/* Nothing is to be done before `due_ns` (INT64_MAX: nothing is in flight). Returns how long to
 * sleep, at most some ms; 0 when it is time to spin. */
int64_t pace_sleep_ns(struct pace *pace, int64_t due_ns, int64_t now_ns);

#endif
