/* The clock and the waits that are made of it. */
#include "check.h"

#include <stdbool.h>
#include <limits.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"

static void
never_goes_back(void)
{
	int64_t last_ns = clock_now();
	int back = 0;

	for (int i = 0; i < 100000; i++) {
		int64_t now_ns = clock_now();

		back += now_ns < last_ns;
		last_ns = now_ns;
	}
	CHECK_INT(back, 0);
}

/* It is CLOCK_MONOTONIC: deadlines are passed between processes and to the kernel. */
static void
is_the_monotonic_clock(void)
{
	struct timespec before, after;
	int64_t now_ns;

	clock_gettime(CLOCK_MONOTONIC, &before);
	now_ns = clock_now();
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK_INT(now_ns >= before.tv_sec * NS_PER_S + before.tv_nsec, true);
	CHECK_INT(now_ns <= after.tv_sec * NS_PER_S + after.tv_nsec, true);
}

static void
sleeps_until(void)
{
	int64_t deadline_ns = clock_now() + 5 * NS_PER_MS;

	CHECK_INT(clock_sleep_until(deadline_ns), 0);
	CHECK_BETWEEN(clock_now() - deadline_ns, 0, NS_PER_S);
	CHECK_INT(clock_sleep_until(deadline_ns), 0); /* past already */
}

static void
on_alarm(int number)
{
	(void)number;
}

static void
signal_ends_sleep(void)
{
	struct sigaction action = {.sa_handler = on_alarm}, old;
	/* again and again: the first may come before we sleep */
	struct itimerval soon = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
	int64_t start_ns = clock_now();

	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK_INT(clock_sleep_until(start_ns + 60 * NS_PER_S), -1);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	CHECK_BETWEEN(clock_now() - start_ns, 0, 30 * NS_PER_S);
}

static void
poll_time_is_rounded_up(void)
{
	int64_t now_ns = clock_now();

	CHECK_INT(clock_poll_ms(now_ns), 0);
	CHECK_INT(clock_poll_ms(now_ns - NS_PER_S), 0);
	CHECK_BETWEEN(clock_poll_ms(clock_now() + NS_PER_S), 900, 1000);
	CHECK_INT(clock_poll_ms(clock_now() + 60 * NS_PER_S - 1) > 59000, true);
	CHECK_INT(clock_poll_ms(INT64_MAX), INT_MAX);
	/* never 0 while there is time left: poll() would spin */
	for (int i = 0; i < 1000; i++) {
		int64_t deadline_ns = clock_now() + 20000;
		int ms = clock_poll_ms(deadline_ns);

		CU_ASSERT(ms == 1 || clock_now() >= deadline_ns);
	}
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"never goes back", never_goes_back},
		{"is the monotonic clock", is_the_monotonic_clock},
		{"sleeps until", sleeps_until},
		{"signal ends sleep", signal_ends_sleep},
		{"poll time is rounded up", poll_time_is_rounded_up},
		CU_TEST_INFO_NULL,
	};

	return check_main("base clock", tests);
}
