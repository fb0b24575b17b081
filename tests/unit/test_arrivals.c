/* The account of numbered messages. */
#include "base/clock.h"
#include "check.h"
#include "probe/arrivals.h"

/* Note the numbers of `list`, which ends with -1, each a microsecond later than the one before.
 */
static int
note_all(struct arrivals *arrivals, const int64_t *list, struct err *err)
{
	for (int64_t i = 0; list[i] >= 0; i++)
		if (arrivals_note(arrivals, list[i], 1000 + i, err) < 0)
			return -1;
	return 0;
}

static void
test_all_in_order(void)
{
	static const int64_t list[] = {0, 1, 2, 3, -1};
	struct arrivals arrivals;
	struct err err = {0};
	int64_t network = -1;

	arrivals_init(&arrivals, 4);
	CHECK_INT(note_all(&arrivals, list, &err), 0);
	CHECK_INT(arrivals.delivered, 4);
	CHECK_INT(arrivals.in_order, 4);
	CHECK_INT(arrivals.duplicates, 0);
	CHECK_INT(arrivals.delay_ns[3], 1003);
	CHECK_INT(arrivals_close(&arrivals, 4, 0, &network, &err), 0);
	CHECK_INT(network, 0);
	arrivals_free(&arrivals);
}

/* A hole, a copy, a message that was overtaken, and a tail that is not there. */
static void
test_untidy(void)
{
	static const int64_t list[] = {0, 2, 2, 1, 5, 5, 5, 4, -1};
	struct arrivals arrivals;
	struct err err = {0};
	int64_t network = -1;

	arrivals_init(&arrivals, 10);
	CHECK_INT(note_all(&arrivals, list, &err), 0);
	CHECK_INT(arrivals.delivered, 5);
	CHECK_INT(arrivals.in_order, 3);
	CHECK_INT(arrivals.duplicates, 3);
	CHECK_INT(arrivals.delay_ns[2], 1001); /* of the first copy */
	CHECK_INT(arrivals.delay_ns[3], -1);
	CHECK_INT(arrivals_close(&arrivals, 10, 2, &network, &err), 0);
	CHECK_INT(network, 3);
	arrivals_free(&arrivals);
}

static void
test_nothing_came(void)
{
	struct arrivals arrivals;
	struct err err = {0};
	int64_t network = -1;

	arrivals_init(&arrivals, 3);
	CHECK_INT(arrivals_close(&arrivals, 3, 3, &network, &err), 0);
	CHECK_INT(network, 0);
	CHECK_INT(arrivals_close(&arrivals, 0, 0, &network, &err), 0);
	CHECK_INT(network, 0);
	CHECK_INT(arrivals_late(arrivals.delay_ns, 3), 0);
	arrivals_free(&arrivals);
}

static void
test_refused(void)
{
	struct arrivals arrivals;
	struct err err = {0};
	int64_t network;

	arrivals_init(&arrivals, 3);
	CHECK_INT(arrivals_note(&arrivals, 3, 0, &err), -1);
	CHECK_TEXT(err.text, "message 3 came, but they end before 3");
	CHECK_INT(arrivals_note(&arrivals, -1, 0, &err), -1);
	CHECK_INT(arrivals_note(&arrivals, 0, -1, &err), -1);
	CHECK_TEXT(err.text, "message 0 came before it was sent");
	CHECK_INT(arrivals.delivered, 0);
	CHECK_INT(arrivals_note(&arrivals, 1, 0, &err), 0);
	CHECK_INT(arrivals_close(&arrivals, 1, 0, &network, &err), -1);
	CHECK_TEXT(err.text, "message 1 came, but only 1 were sent");
	CHECK_INT(arrivals_close(&arrivals, 3, 3, &network, &err), -1);
	CHECK_TEXT(err.text,
		"the receive buffer dropped 3 messages, but only 2 of 3 are missing: "
		"does the path duplicate?");
	arrivals_free(&arrivals);
}

static void
test_late(void)
{
	static const int64_t near[] = {10000, 20000, 5010000, -1, 5020000, 5020001};
	static const int64_t far[] = {25 * NS_PER_MS, 55 * NS_PER_MS, 55 * NS_PER_MS + 1,
		25 * NS_PER_MS + 1, 80 * NS_PER_MS};

	CHECK_INT(arrivals_late(near, 6), 1);
	CHECK_INT(arrivals_late(near, 2), 0);
	CHECK_INT(arrivals_late(far, 5), 2);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"all in order", test_all_in_order},
		{"holes, copies, overtaken, no tail", test_untidy},
		{"nothing came", test_nothing_came},
		{"what cannot be", test_refused},
		{"late", test_late},
		CU_TEST_INFO_NULL,
	};

	return check_main("arrivals", tests);
}
