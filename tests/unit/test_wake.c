/* What it takes to wake a core: measured at all, and what counts as a step. */
#include "base/clock.h"
#include "check.h"
#include "run/wake.h"

/* No longer than this machine may keep a process from its core. */
static void
test_measure(void)
{
	struct wake wake = {0};
	struct err err = {""};
	int64_t start = clock_now();

	CHECK_INT(wake_measure(&wake, &err), 0);
	CHECK_TEXT(err.text, "");
	CHECK_BETWEEN(wake.soon_ns, 1, NS_PER_S);
	CHECK_BETWEEN(wake.late_ns, 1, NS_PER_S);
	/* 28 words of each kind were waited for. */
	CHECK_BETWEEN(clock_now() - start, 28 * (WAKE_SOON_NS + WAKE_LATE_NS), 10 * NS_PER_S);
}

static void
test_steps(void)
{
	struct wake slow = {12 * NS_PER_US, 74 * NS_PER_US};
	struct wake quick = {12 * NS_PER_US, 38 * NS_PER_US};
	struct wake always = {110 * NS_PER_US, 112 * NS_PER_US};

	CU_ASSERT(wake_steps(&slow));
	CU_ASSERT(!wake_steps(&quick));
	CU_ASSERT(!wake_steps(&always)); /* which can be taken out of a delay */
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"measured at all", test_measure},
		{"what is a step", test_steps},
		CU_TEST_INFO_NULL,
	};

	return check_main("wake", tests);
}
