/* When the emulator's loop sleeps, and what it counts as a stall: the clock is passed in. */
#include "link/pace.h"

#include "check.h"

#define US NS_PER_US
#define MS NS_PER_MS

static void
test_sleep_in_parts(void)
{
	struct pace pace = {0};
	int64_t now_ns = 7 * MS, due_ns = now_ns + 3 * MS;

	pace_begin(&pace, now_ns);
	/* To where a cold core may still wake late, to where it is time to spin, no further. */
	CHECK_INT(pace_sleep_ns(&pace, due_ns, now_ns), 2600 * US);
	now_ns += 2600 * US;
	CHECK_INT(pace_sleep_ns(&pace, due_ns, now_ns), 340 * US);
	now_ns += 340 * US;
	CHECK_INT(pace_sleep_ns(&pace, due_ns, now_ns), 0);
	CHECK_INT(pace_sleep_ns(&pace, due_ns, due_ns), 0);
	CHECK_INT(pace_sleep_ns(&pace, due_ns, due_ns + MS), 0);
	CHECK_INT(pace.stalls.count, 0);
}

static void
test_nothing_in_flight(void)
{
	struct pace pace = {0};

	pace_begin(&pace, MS);
	CHECK_INT(pace_sleep_ns(&pace, INT64_MAX, MS), 10 * MS);
	CHECK_INT(pace_sleep_ns(&pace, MS + 90 * MS, 11 * MS), 10 * MS);
}

static void
test_stalls(void)
{
	struct pace pace = {0};

	pace_begin(&pace, 100 * MS);
	pace_note(&pace, 100 * MS + STALL_NS); /* not longer */
	CHECK_INT(pace.stalls.max_ns, STALL_NS);
	CHECK_INT(pace.stalls.count, 0);
	/* What was slept is no stall; what was overslept is. */
	CHECK_INT(pace_sleep_ns(&pace, INT64_MAX, 105 * MS), 10 * MS);
	pace_note(&pace, 122 * MS);
	CHECK_INT(pace.stalls.max_ns, 7 * MS);
	CHECK_INT(pace.stalls.count, 1);
	/* Woken early, the next turn has to begin at once. */
	pace_sleep_ns(&pace, INT64_MAX, 122 * MS);
	pace_note(&pace, 123 * MS);
	pace_note(&pace, 132 * MS);
	CHECK_INT(pace.stalls.max_ns, 9 * MS);
	CHECK_INT(pace.stalls.count, 2);
	/* A later run begins anew, and keeps what was counted. */
	pace_begin(&pace, 900 * MS);
	pace_note(&pace, 900 * MS);
	CHECK_INT(pace.stalls.count, 2);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"sleep in parts", test_sleep_in_parts},
		{"nothing in flight", test_nothing_in_flight},
		{"stalls", test_stalls},
		CU_TEST_INFO_NULL,
	};

	return check_main("link_pace", tests);
}
