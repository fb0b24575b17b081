/* netem: the tc commands of each kind of path, and tc's error texts. */
#include "check.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "link/netem.h"

#define US NS_PER_US
#define MS NS_PER_MS

/* The words of a command behind those that all begin with. */
static void
check_command(const struct netem_args *args, const char *expected)
{
	static const char start[] = "tc qdisc add dev link0 ";
	struct buf text = {0};

	for (const char *const *arg = args->argv; *arg; arg++)
		buf_printf(&text, "%s%s", arg == args->argv ? "" : " ", *arg);
	CU_ASSERT(!strncmp(buf_text(&text), start, strlen(start)));
	CHECK_TEXT(buf_text(&text) + strlen(start), expected);
	buf_free(&text);
}

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
		{{.delay_ns = MS,
			 .jitter_ns = MS,
			 .distribution = DISTRIBUTION_PARETONORMAL,
			 .limit_packets = 5},
			"limit 5 delay 1000us 1000us distribution paretonormal rate "
			"1000000000000bit -14"},
		{{.loss_ppm = 10000,
			 .bursts = true,
			 .gemodel = {3367003, 333333333, 1000000000, 0}},
			"limit 1000 loss gemodel 0.3367003% 33.3333333% 100% 0%"},
		{{.bursts = true, .gemodel = {1, 10000000, 505000000, 2500000}},
			"limit 1000 loss gemodel 0.0000001% 1% 50.5% 0.25%"},
		{{.duplicate_ppm = 15000, .corrupt_ppm = 1},
			"limit 1000 duplicate 1.5% corrupt 0.0001%"},
		/* With reorder jitter need not keep order, so nothing may make it. */
		{{.delay_ns = MS,
			 .jitter_ns = MS,
			 .reorder_ppm = 250000,
			 .reorder_gap = 5,
			 .limit_packets = 5},
			"limit 5 delay 1000us 1000us reorder 25% gap 5"},
		{{.delay_ns = MS,
			 .reorder_ppm = 10000,
			 .reorder_gap = 1,
			 .rate_bps = 9600,
			 .limit_packets = 5},
			"limit 5 delay 1000us reorder 1% gap 1 rate 9600bit -14"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct netem_args commands[NETEM_COMMANDS_MAX];
		char *expected = alloc_printf("root netem %s", rows[i].expected);

		CHECK_INT(netem_commands("link0", &rows[i].path, NULL, commands), 1);
		check_command(&commands[0], expected);
		free(expected);
	}
}

/* A queue in bytes takes the rate away from netem, which keeps its delay and its order. */
static void
test_argv_bucket(void)
{
	static const struct {
		int64_t rate_bps, jitter_ns;
		const char *netem, *bucket;
	} rows[] = {
		{10000000, 0, "root handle 1: stab overhead -14 netem limit 5 delay 1000us",
			"parent 1:1 handle 10: tbf rate 10000000bit burst 1500 limit 65536"},
		{10000000, MS,
			"root handle 1: stab overhead -14 netem limit 5 delay 1000us 1000us "
			"rate 1000000000000bit -14",
			"parent 1:1 handle 10: tbf rate 10000000bit burst 1500 limit 65536"},
		{1000000000, 0, "root handle 1: stab overhead -14 netem limit 5 delay 1000us",
			"parent 1:1 handle 10: tbf rate 1000000000bit burst 12500 limit 65536"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct impairment path = {
			.delay_ns = MS,
			.jitter_ns = rows[i].jitter_ns,
			.rate_bps = rows[i].rate_bps,
			.queue_bytes = 65536,
			.limit_packets = 5,
		};
		struct netem_args commands[NETEM_COMMANDS_MAX];

		CHECK_INT(netem_commands("link0", &path, NULL, commands), 2);
		check_command(&commands[0], rows[i].netem);
		check_command(&commands[1], rows[i].bucket);
	}
}

/* The longest there is. */
static void
test_argv_seed(void)
{
	const struct impairment path = {
		.delay_ns = MS,
		.jitter_ns = MS,
		.distribution = DISTRIBUTION_NORMAL,
		.bursts = true,
		.gemodel = {123456789, 123456789, 123456789, 123456789},
		.duplicate_ppm = 1,
		.corrupt_ppm = 1,
		.reorder_ppm = 1,
		.reorder_gap = 100000,
		.rate_bps = 9600,
		.limit_packets = 5,
	};
	uint64_t seed = UINT64_MAX;
	struct netem_args commands[NETEM_COMMANDS_MAX];

	netem_commands("link0", &path, &seed, commands);
	check_command(&commands[0],
		"root netem limit 5 delay 1000us 1000us distribution normal loss gemodel "
		"12.3456789% 12.3456789% 12.3456789% 12.3456789% duplicate 0.0001% corrupt "
		"0.0001% reorder 0.0001% gap 100000 rate 9600bit -14 seed "
		"18446744073709551615");
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
		{"Error: netem: cannot mix duplicating netems with other netems in tree.\n",
			NETEM_NO_DUPLICATES},
		{"No distribution data for normal (/usr/lib/tc//normal.dist: No such file or "
		 "directory)\n",
			NETEM_NO_TABLE},
		{"What is \"gemodel\"?\nUsage: ... netem [ limit PACKETS ]\n",
			NETEM_UNKNOWN_WORD},
		{"RTNETLINK answers: Invalid argument\n", NETEM_REFUSED},
		{"Cannot find device \"link0\"\n", NETEM_OTHER},
		{"", NETEM_OTHER},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_INT(netem_fault(rows[i].words), rows[i].fault);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"argv", test_argv},
		{"argv with a bucket", test_argv_bucket},
		{"argv with a seed and everything", test_argv_seed},
		{"faults", test_faults},
		CU_TEST_INFO_NULL,
	};

	return check_main("netem", tests);
}
