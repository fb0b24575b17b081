/* `rttlink check`: measures a link. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cmd/rttlink_args.h"
#include "link/echo.h"
#include "net/cpu.h"
#include "stat/record.h"

#define WARMUP 3

struct check_args {
	struct common_args common;
	struct ends_args ends;
	int family; /* 0: IPv4, 1: IPv6 */
	int64_t count;
	int64_t interval_ns;
	bool closed;
	int64_t deadline_ns;
};

#define AT(member) offsetof(struct check_args, member)

static const struct opt options[] = {
	ENDS_ROWS(AT(ends)),
	{"family", OPT_CHOICE, AT(family), "4", "4|6", 0, 0, "address family"},
	{"count", OPT_COUNT, AT(count), "20", NULL, 1, 1000000,
		"exchanges, after 3 that warm up"},
	{"interval", OPT_DURATION, AT(interval_ns), "5ms", NULL, 0, 0, "from one to the next"},
	{"closed", OPT_FLAG, AT(closed), NULL, NULL, 0, 0,
		"closed loop: send the next one an interval after the last reply"},
	{"deadline", OPT_DURATION, AT(deadline_ns), "10s", NULL, 0, 0, "give up after"},
	HELP_ROW,
	{0},
};

static void
print_echo(const struct echo_plan *plan, const struct echo_sample *samples,
	const struct echo_result *result)
{
	if (result->first_ns)
		record_sample(stdout, "echo_first", RECORD_NS, result->first_ns);
	for (int64_t i = 0; i < plan->count; i++) {
		if (!samples[i].up_ns)
			continue;
		record_sample(stdout, "echo", RECORD_NS, samples[i].up_ns + samples[i].down_ns);
		record_sample(stdout, "echo_up", RECORD_NS, samples[i].up_ns);
		record_sample(stdout, "echo_down", RECORD_NS, samples[i].down_ns);
	}
	record_count(stdout, "echo_sent", plan->count);
	record_count(stdout, "echo_lost", plan->count - result->received);
}

static int
run(const void *given)
{
	const struct check_args *args = given;
	struct space space[ENDS] = {SPACE_NONE, SPACE_NONE};
	struct echo_plan plan = {
		.space = space,
		.ends = end_addresses,
		.family = args->family ? AF_INET6 : AF_INET,
		.warmup = WARMUP,
		.count = args->count,
		.interval_ns = args->interval_ns,
		.one_at_a_time = args->closed,
		.deadline_ns = clock_now() + args->deadline_ns,
	};
	struct echo_sample *samples;
	struct echo_result result;
	struct err err;
	int last;

	/* Where the link was calibrated, which is where most probes run. */
	if (cpu_range(&plan.core, &last, &err) < 0)
		plan.core = -1;

	if (args_require_ends(&args->ends, &err) < 0)
		return rttlink_fail(EXIT_USAGE, &err);
	if (args_open_spaces(&args->ends, space, &err) < 0)
		return rttlink_fail(EXIT_FAILED, &err);
	samples = alloc_zero((size_t)plan.count, sizeof(*samples));
	if (echo_run(&plan, samples, &result, &err) < 0)
		return rttlink_fail(EXIT_FAILED, &err);
	print_echo(&plan, samples, &result);
	free(samples);
	args_close_spaces(space);
	return EXIT_OK;
}

const struct subcommand subcommand_check = {
	.name = "check",
	.summary = "measure a link with a UDP echo of its own",
	.options = options,
	.args_size = sizeof(struct check_args),
	.run = run,
	.help = "Both ends of the echo are in this process, so one clock gives both ways "
		"apart.\n"
		"echo_first is the first of the 3: on a cold link it asks for the neighbour as well, and\n"
		"takes two round trips.\n",
};
