/* Traces: the times of deliveries, and the refusals. */
#include "link/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check.h"
#include "base/alloc.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct trace *
read_text(const char *text, struct err *err)
{
	return trace_parse("t", text, strlen(text), err);
}

static void
test_times(void)
{
	struct err err = {""};
	struct trace *trace = read_text("0\n0\r\n5\n12", &err);

	CHECK_TEXT(err.text, "");
	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	CHECK_INT(trace->count, 4);
	CHECK_INT(trace->at_ns[1], 0);
	CHECK_INT(trace->at_ns[2], 5 * NS_PER_MS);
	CHECK_INT(trace->length_ns, 12 * NS_PER_MS);
	CHECK_INT(trace_mean_bps(trace), 4000000); /* 4 x 12,000 bits in 12 ms */
	trace_free(trace);
}

static void
test_refusals(void)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", ": expected a delivery after 0 ms: the time of the last one is the "
		     "trace's length"},
		{"0\n0\n", ": expected a delivery after 0 ms: the time of the last one is the "
			   "trace's length"},
		{"1\n\n2\n", ":2: '': expected a time in whole milliseconds, up to a week"},
		{"1\n2.5\n", ":2: '2.5': expected a time in whole milliseconds, up to a week"},
		{"604800001\n",
			":1: '604800001': expected a time in whole milliseconds, up to a week"},
		{"7\n6\n", ":2: 6 ms is before the delivery of the line above"},
		{"1\n-5\n", ":2: '-5': expected a time in whole milliseconds, up to a week"},
		{"000000000000000000000000000000000000000000000000000000000000000005\n",
			":1: '0000000000000000000000000000000000000000...': longer than any "
			"time"},
		{"1\n\033[2J\n", ":2: byte 0x1b: not a number"},
		{"1\r5\n", ":1: byte 0x0d: not a number"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *expected = alloc_printf("t%s", rows[i].message);
		struct err err = {""};

		CU_ASSERT_PTR_NULL(read_text(rows[i].text, &err));
		CHECK_TEXT(err.text, expected);
		free(expected);
	}
}

static void
test_nul(void)
{
	static const char text[] = "1\n5\0 and more\n";
	struct err err = {""};

	CU_ASSERT_PTR_NULL(trace_parse("t", text, sizeof(text) - 1, &err));
	CHECK_TEXT(err.text, "t:2: byte 0x00: not a number");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"times of deliveries", test_times},
		{"what is refused, in which words", test_refusals},
		{"a NUL is refused", test_nul},
		CU_TEST_INFO_NULL,
	};

	return check_main("trace", tests);
}
