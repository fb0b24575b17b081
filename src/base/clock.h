/* The one clock of this project: CLOCK_MONOTONIC in nanoseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

/* Nanoseconds since an arbitrary fixed point; the same for all processes of a machine. */
int64_t clock_now(void);

/* Sleep until `deadline_ns`. Returns early, with -1, when a signal handler ran. For pacing
 * only: what can be observed is awaited, not slept for. */
int clock_sleep_until(int64_t deadline_ns);

/* Milliseconds from now to `deadline_ns`, rounded up, for poll(); 0 once it has passed. */
int clock_poll_ms(int64_t deadline_ns);

#endif
