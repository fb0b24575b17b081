/* rttlink: makes a link with a stated delay, jitter, loss and rate between two network
 * namespaces, and measures one. Prints records (docker/CONTRACT.md) on stdout. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/nearest.h"
#include "base/netns.h"
#include "base/opts.h"
#include "base/proc.h"
#include "link/backend.h"
#include "link/echo.h"
#include "link/profile.h"
#include "link/stop.h"
#include "net/cpu.h"
#include "stat/record.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNSUPPORTED = 77 };

#define WARMUP 3

static const struct backend *const backends[] = {&backend_netem, &backend_tun};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct args {
	const char *profile;
	int backend;
	int64_t seed;
	const char *ns[ENDS];
	int family; /* 0: IPv4, 1: IPv6 */
	int64_t count;
	int64_t interval_ns;
	int64_t deadline_ns;
	bool closed;
	bool help;
};

#define AT(member) offsetof(struct args, member)
#define NAMESPACES                                                                             \
	{"near", OPT_TEXT, AT(ns[NEAR]), NULL, "NSPATH", 0, 0,                                 \
		"the client's network namespace"},                                             \
	{                                                                                      \
		"far", OPT_TEXT, AT(ns[FAR]), NULL, "NSPATH", 0, 0,                            \
			"the server's network namespace"                                       \
	}
#define HELP                                                                                   \
	{                                                                                      \
		"help", OPT_FLAG, AT(help), NULL, NULL, 0, 0, "this text"                      \
	}

static const struct opt up_options[] = {
	{"profile", OPT_TEXT, AT(profile), NULL, "FILE", 0, 0, "what the link is like"},
	{"backend", OPT_CHOICE, AT(backend), "tun", "netem|tun", 0, 0, "what shapes it"},
	{"seed", OPT_COUNT, AT(seed), "1", NULL, 0, 0, "the same seed loses the same packets"},
	NAMESPACES,
	HELP,
	{0},
};

static const struct opt check_options[] = {
	NAMESPACES,
	{"family", OPT_CHOICE, AT(family), "4", "4|6", 0, 0, "address family"},
	{"count", OPT_COUNT, AT(count), "20", NULL, 1, 1000000,
		"exchanges, after 3 that warm up"},
	{"interval", OPT_DURATION, AT(interval_ns), "5ms", NULL, 0, 0, "from one to the next"},
	{"closed", OPT_FLAG, AT(closed), NULL, NULL, 0, 0,
		"closed loop: send the next one an interval after the last reply"},
	{"deadline", OPT_DURATION, AT(deadline_ns), "10s", NULL, 0, 0, "give up after"},
	HELP,
	{0},
};

static const struct opt backends_options[] = {HELP, {0}};

/* The last stderr line is the reason, which the runner shows. */
static int
fail(int status, const struct err *err)
{
	fflush(stdout);
	fprintf(stderr, "rttlink: %s\n", err->text);
	return status;
}

static int
exit_status(int status)
{
	return status == LINK_UNSUPPORTED ? EXIT_UNSUPPORTED : EXIT_FAILED;
}

static int
require(const char *value, const char *name, struct err *err)
{
	return value ? 0 : err_set(err, "option '--%s' is required", name);
}

static int
open_namespaces(const struct args *args, int ns[static ENDS], struct err *err)
{
	for (enum end end = NEAR; end < ENDS; end++) {
		ns[end] = netns_open(args->ns[end], err);
		if (ns[end] < 0)
			return -1;
	}
	return 0;
}

static void
print_info(const char *name, const char *text)
{
	record_info(stdout, name, "%s", text);
}

static void
print_counters(const struct link_counters *counters)
{
	record_count(stdout, "up_packets", counters->packets[UP]);
	record_count(stdout, "up_lost", counters->lost[UP]);
	record_count(stdout, "up_dropped", counters->dropped[UP]);
	record_count(stdout, "down_packets", counters->packets[DOWN]);
	record_count(stdout, "down_lost", counters->lost[DOWN]);
	record_count(stdout, "down_dropped", counters->dropped[DOWN]);
	fflush(stdout); /* removing devices takes the kernel some 40 ms: nobody should wait for
			   that */
}

/* Hold the open link until we are told to stop, then print what happened on it. */
static int
serve(struct link *link, int stop, struct err *err)
{
	struct link_counters counters = {0};
	int status;

	for (enum end end = NEAR; end < ENDS; end++) {
		const struct end_address *address = &end_addresses[end];

		if (netns_enter(link->ns[end], err) < 0)
			return -1;
		if (end_has_ipv6(end))
			record_info(stdout, address->name, "%s/%d %s/%d", address->ipv4,
				LINK_PREFIX4, address->ipv6, LINK_PREFIX6);
		else
			record_info(stdout, address->name, "%s/%d, no IPv6 here", address->ipv4,
				LINK_PREFIX4);
	}
	printf("ready %s\n", end_addresses[NEAR].ipv4);
	fflush(stdout);
	do
		status = link->backend->run(link, stop, err);
	while (status == 0 && !stop_is_meant(stop));
	if (status == 0)
		status = link->backend->count(link, &counters, err);
	if (status == 0)
		print_counters(&counters);
	return status;
}

/* Build the link, hold it, remove it. */
static int
hold(struct link *link, struct err *err)
{
	int stop = stop_open(err), status;

	if (stop < 0)
		return -1;
	proc_die_with_parent(getppid());
	record_info(stdout, "backend", "%s", link->backend->name);
	status = link->backend->open(link, err);
	if (status)
		return status;
	status = serve(link, stop, err);
	link->backend->close(link);
	return status;
}

/* 0 when the command line and the profile make sense. */
static int
prepare_up(const struct args *args, struct profile *profile, struct err *err)
{
	if (require(args->profile, "profile", err) < 0 ||
		require(args->ns[NEAR], "near", err) < 0 ||
		require(args->ns[FAR], "far", err) < 0 ||
		profile_read(args->profile, profile, err) < 0)
		return -1;
	if (profile->loopback)
		return err_set(err, "%s: a loopback profile has no link", args->profile);
	return 0;
}

static int
run_up(const struct args *args)
{
	struct profile profile = {0};
	struct link link = {
		.backend = backends[args->backend],
		.profile = &profile,
		.seed = (uint64_t)args->seed,
		.info = print_info,
	};
	struct err err;
	int status;

	if (prepare_up(args, &profile, &err) < 0)
		return fail(EXIT_USAGE, &err);
	status = open_namespaces(args, link.ns, &err);
	if (status == 0)
		status = hold(&link, &err);
	profile_free(&profile);
	return status ? fail(exit_status(status), &err) : EXIT_OK;
}

static int
run_check(const struct args *args)
{
	struct echo_plan plan = {
		.family = args->family ? AF_INET6 : AF_INET,
		.warmup = WARMUP,
		.count = args->count,
		.interval_ns = args->interval_ns,
		.one_at_a_time = args->closed,
		.deadline_ns = clock_now() + args->deadline_ns,
	};
	struct echo_sample *samples;
	int64_t received;
	struct err err;
	int last;

	/* Where the link was calibrated, which is where most probes run. */
	if (cpu_range(&plan.core, &last, &err) < 0)
		plan.core = -1;

	if (require(args->ns[NEAR], "near", &err) < 0 ||
		require(args->ns[FAR], "far", &err) < 0)
		return fail(EXIT_USAGE, &err);
	if (open_namespaces(args, plan.ns, &err) < 0)
		return fail(EXIT_FAILED, &err);
	samples = alloc_zero((size_t)plan.count, sizeof(*samples));
	if (echo_run(&plan, samples, &received, &err) < 0)
		return fail(EXIT_FAILED, &err);
	for (int64_t i = 0; i < plan.count; i++) {
		if (!samples[i].up_ns)
			continue;
		record_sample(stdout, "echo", RECORD_NS, samples[i].up_ns + samples[i].down_ns);
		record_sample(stdout, "echo_up", RECORD_NS, samples[i].up_ns);
		record_sample(stdout, "echo_down", RECORD_NS, samples[i].down_ns);
	}
	record_count(stdout, "echo_sent", plan.count);
	record_count(stdout, "echo_lost", plan.count - received);
	free(samples);
	return EXIT_OK;
}

static int
run_backends(const struct args *args)
{
	size_t working = 0;

	(void)args;
	for (size_t i = 0; i < COUNT(backends); i++) {
		struct err err;

		if (backend_try(backends[i], &err) == 0) {
			record_info(stdout, backends[i]->name, "ok");
			working++;
		} else {
			record_info(stdout, backends[i]->name, "unsupported: %s", err.text);
		}
	}
	return working ? EXIT_OK : EXIT_UNSUPPORTED;
}

static const struct subcommand {
	const char *name;
	const char *summary;
	const struct opt *options;
	int (*run)(const struct args *args);
	const char *help;
} subcommands[] = {
	{"up", "make a link and hold it until SIGTERM or the end of stdin", up_options, run_up,
		"Prints what is in force, then 'ready ADDRESS'; at the end what happened to "
		"packets.\n"
		"With tun also how late packets left (lateness_*) and how long the emulator stood\n"
		"still (stall_max_ns; stalls: how often for more than 5 ms).\n"
		"Try it:\n"
		"  sudo ip netns add a; sudo ip netns add b\n"
		"  sudo build/bin/rttlink up --profile netem/wan50.yaml --near /run/netns/a --far "
		"/run/netns/b\n"
		"and in another terminal\n"
		"  sudo ip netns exec a ping 198.18.0.2\n"
		"  sudo build/bin/rttlink check --near /run/netns/a --far /run/netns/b\n"},
	{"check", "measure a link with a UDP echo of its own", check_options, run_check,
		"Both ends of the echo are in this process, so one clock gives both ways "
		"apart.\n"},
	{"backends", "say which backends work on this machine, and what mends the others",
		backends_options, run_backends,
		"Tries each in namespaces made for it. Needs root or user namespaces.\n"},
};

static const struct subcommand *
find_subcommand(const char *name, struct err *err)
{
	const char *names[COUNT(subcommands)], *nearest;

	for (size_t i = 0; i < COUNT(subcommands); i++) {
		names[i] = subcommands[i].name;
		if (!strcmp(name, names[i]))
			return &subcommands[i];
	}
	nearest = nearest_name(name, names, COUNT(names));
	if (nearest)
		err_set(err, "unknown subcommand '%s': did you mean '%s'?", name, nearest);
	else
		err_set(err, "unknown subcommand '%s'", name);
	return NULL;
}

static void
usage(FILE *out)
{
	fputs("usage: rttlink SUBCOMMAND [OPTIONS]\n"
	      "A link with a stated delay, jitter, loss and rate between two network "
	      "namespaces.\n\n",
		out);
	for (size_t i = 0; i < COUNT(subcommands); i++)
		fprintf(out, "  %-10s%s\n", subcommands[i].name, subcommands[i].summary);
	fputs("\n'rttlink SUBCOMMAND --help' says more. A namespace is given by a path such "
	      "as\n"
	      "/proc/PID/ns/net or /run/netns/NAME.\n"
	      "Exit: 0 ok, 1 failed, 2 usage, 77 not possible on this machine (the last line "
	      "says why).\n",
		out);
}

static int
help(const struct subcommand *subcommand)
{
	printf("usage: rttlink %s [OPTIONS]\n%s\n\n%s\n", subcommand->name, subcommand->summary,
		subcommand->help);
	opts_usage(subcommand->options, "--", stdout);
	return EXIT_OK;
}

int
main(int argc, char **argv)
{
	const struct subcommand *subcommand;
	struct args args = {0};
	struct err err;
	int operands, status;

	proc_fill_std();
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
		!strcmp(argv[1], "help")) {
		usage(argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	subcommand = find_subcommand(argv[1], &err);
	if (!subcommand)
		return fail(EXIT_USAGE, &err);
	opts_defaults(subcommand->options, &args);
	if (opts_parse(subcommand->options, &args, argc - 1, argv + 1, &operands, &err) < 0)
		return fail(EXIT_USAGE, &err);
	if (args.help)
		return help(subcommand);
	if (operands) {
		err_set(&err, "unexpected argument '%s'", argv[2]);
		return fail(EXIT_USAGE, &err);
	}

	status = subcommand->run(&args);
	if (fflush(stdout) == EOF || ferror(stdout)) {
		err_sys(&err, "write to stdout");
		return fail(EXIT_FAILED, &err);
	}
	return status;
}
