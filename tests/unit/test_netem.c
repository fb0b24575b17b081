/* netem: the tc command of each kind of path, tc's error texts, and its JSON. */
#include "check.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "link/netem.h"

#define US NS_PER_US
#define MS NS_PER_MS

static void
test_argv(void)
{
	static const struct {
		struct impairment path;
		const char *expected;
	} rows[] = {
		{{0}, "limit 1000"},
		{{.delay_ns = 25 * MS}, "limit 41666 delay 25000us"},
		{{.delay_ns = 250 * US}, "limit 1000 delay 250us"},
		{{.delay_ns = 12500}, "limit 1000 delay 12.5us"},
		{{.delay_ns = 1}, "limit 1000 delay 0.001us"},
		{{.delay_ns = 300 * MS, .limit_packets = 77}, "limit 77 delay 300000us"},
		{{.delay_ns = 20 * MS, .jitter_ns = 5 * MS, .limit_packets = 9},
			"limit 9 delay 20000us 5000us rate 1000000000000bit -14"},
		{{.loss_ppm = 10000}, "limit 1000 loss 1%"},
		{{.loss_ppm = 1}, "limit 1000 loss 0.0001%"},
		{{.loss_ppm = 1000000}, "limit 1000 loss 100%"},
		{{.loss_ppm = 12500, .delay_ns = MS, .limit_packets = 5},
			"limit 5 delay 1000us loss 1.25%"},
		{{.rate_bps = 10000000, .limit_packets = 50}, "limit 50 rate 10000000bit -14"},
		{{.delay_ns = MS,
			 .jitter_ns = MS,
			 .loss_ppm = 500,
			 .rate_bps = 9600,
			 .limit_packets = 50},
			"limit 50 delay 1000us 1000us loss 0.05% rate 9600bit -14"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct netem_args args;
		struct buf text = {0};
		char *expected;

		netem_argv("link0", &rows[i].path, NULL, &args);
		for (const char **arg = args.argv; *arg; arg++)
			buf_printf(&text, "%s%s", arg == args.argv ? "" : " ", *arg);
		expected = alloc_printf(
			"tc qdisc add dev link0 root netem %s", rows[i].expected);
		CHECK_TEXT(buf_text(&text), expected);
		free(expected);
		buf_free(&text);
	}
}

static void
test_argv_seed(void)
{
	struct impairment path = {.loss_ppm = 10000};
	uint64_t seed = UINT64_MAX;
	struct netem_args args;
	int count = 0;

	netem_argv("link0", &path, &seed, &args);
	while (args.argv[count])
		count++;
	CHECK_TEXT(args.argv[count - 2], "seed");
	CHECK_TEXT(args.argv[count - 1], "18446744073709551615");
}

static void
test_faults(void)
{
	static const struct {
		const char *words;
		enum netem_fault fault;
	} rows[] = {
		{"Error: Specified qdisc kind is unknown.\n", NETEM_NO_QDISC},
		{"Error: Specified qdisc not found.\n", NETEM_NO_QDISC},
		{"RTNETLINK answers: No such file or directory\n", NETEM_NO_QDISC},
		{"RTNETLINK answers: Operation not supported\n", NETEM_NO_QDISC},
		{"RTNETLINK answers: Operation not permitted\n", NETEM_NO_PRIVILEGE},
		{"Cannot find device \"link0\"\n", NETEM_OTHER},
		{"", NETEM_OTHER},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_INT(netem_fault(rows[i].words), rows[i].fault);
}

/* As iproute2 6.1 on Linux 6.1 printed them. */
#define SHOWN                                                                                  \
	"[{\"kind\":\"netem\",\"handle\":\"8001:\",\"root\":true,\"refcnt\":2,\"options\":{"   \
	"\"limit\":24998,\"delay\":{\"delay\":0.01,\"jitter\":0.005,\"correlation\":0},"       \
	"\"rate\":{\"rate\":125000000000,\"packetoverhead\":-14,\"cellsize\":0,"               \
	"\"celloverhead\":0},\"ecn\":false,\"gap\":0}}]"
#define SHOWN_PLAIN                                                                            \
	"[{\"kind\":\"noqueue\",\"handle\":\"0:\",\"root\":true,\"refcnt\":2,\"options\":{}}]"
#define COUNTED                                                                                \
	"[{\"kind\":\"netem\",\"handle\":\"8009:\",\"root\":true,\"refcnt\":2,\"options\":{"   \
	"\"limit\":1000,\"ecn\":false,\"gap\":0},\"bytes\":480279080,\"packets\":321553,"      \
	"\"drops\":230,\"overlimits\":0,\"requeues\":0,\"backlog\":0,\"qlen\":0}]"

static void
test_confirm(void)
{
	struct impairment path = {
		.delay_ns = 10 * MS, .jitter_ns = 5 * MS, .limit_packets = 24998};
	struct err err = {""};

	CHECK_INT(netem_confirm(SHOWN, &path, &err), 0);
	CHECK_TEXT(err.text, "");
	path.limit_packets = 1000;
	CHECK_INT(netem_confirm(SHOWN, &path, &err), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another limit than 1000"));
	path.limit_packets = 24998;
	path.delay_ns = 10 * US;
	CHECK_INT(netem_confirm(SHOWN, &path, &err), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another delay than 1e-05 s"));
	path.delay_ns = 10 * MS;
	path.rate_bps = 8000;
	CHECK_INT(netem_confirm(SHOWN, &path, &err), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another rate than 1000 bytes/s"));
	CHECK_INT(netem_confirm(SHOWN_PLAIN, &path, &err), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no netem"));
}

static void
test_counters(void)
{
	struct netem_counters counters;
	struct err err;

	CHECK_INT(netem_read_counters(COUNTED, &counters, &err), 0);
	CHECK_INT(counters.packets, 321553);
	CHECK_INT(counters.drops, 230);
	CHECK_INT(netem_read_counters(SHOWN_PLAIN, &counters, &err), -1);
	CU_ASSERT(!netem_has_seed(COUNTED));
	CU_ASSERT(netem_has_seed("{\"kind\":\"netem\",\"seed\":12}"));
}

static void
test_explained(void)
{
	CHECK_INT(netem_explained(1000, 3, 0), 0);
	CHECK_INT(netem_explained(1000, 0, 0), 0);
	CHECK_INT(netem_explained(10000, 134, 10000), 134);
	CHECK_INT(netem_explained(10000, 100, 10000), 100);
	CHECK_INT(netem_explained(100, 3, 10000), 3);
	/* A queue that overflowed besides. */
	CHECK_BETWEEN(netem_explained(10000, 1000, 10000), 130, 140);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"argv", test_argv},
		{"argv with a seed", test_argv_seed},
		{"faults", test_faults},
		{"confirm", test_confirm},
		{"counters", test_counters},
		{"explained losses", test_explained},
		CU_TEST_INFO_NULL,
	};

	return check_main("netem", tests);
}
