/* CLOCK_MONOTONIC in nanoseconds. */
#include "base/clock.h"

#include <limits.h>
#include <time.h>

int64_t
clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int
clock_sleep_until(int64_t deadline_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(deadline_ns / NS_PER_S),
		.tv_nsec = (long)(deadline_ns % NS_PER_S),
	};

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ? -1 : 0;
}

int
clock_poll_ms(int64_t deadline_ns)
{
	int64_t left = deadline_ns - clock_now();

	if (left <= 0)
		return 0;
	left = (left + NS_PER_MS - 1) / NS_PER_MS;
	return left > INT_MAX ? INT_MAX : (int)left;
}
