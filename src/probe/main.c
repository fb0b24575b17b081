/* The shared main() of all probes: arguments, deadline, signals, exit status. */
#include "probe/probe.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "base/units.h"

struct arguments {
	const char *addr;
	int64_t samples;
	int64_t deadline;
};

static const struct opt serve_table[] = {
	{.name = "listen",
		.type = OPT_TEXT,
		.offset = offsetof(struct arguments, addr),
		.choices = "ADDR",
		.help = "literal address and port, 127.0.0.1:0 or [::1]:0 for any free port"},
	{.name = "deadline",
		.type = OPT_DURATION,
		.offset = offsetof(struct arguments, deadline),
		.default_text = "1h",
		.min = 1,
		.help = "give up and exit 1 when not stopped by then"},
	{0},
};

/* Nothing is started: would a run be refused? */
static const struct opt check_table[] = {
	{.name = "samples",
		.type = OPT_COUNT,
		.offset = offsetof(struct arguments, samples),
		.min = 1,
		.max = 10000000,
		.help = "how many of each measurement"},
	{0},
};

static const struct opt run_table[] = {
	{.name = "peer",
		.type = OPT_TEXT,
		.offset = offsetof(struct arguments, addr),
		.choices = "ADDR",
		.help = "the address that serve printed"},
	{.name = "samples",
		.type = OPT_COUNT,
		.offset = offsetof(struct arguments, samples),
		.min = 1,
		.max = 10000000,
		.help = "how many of each measurement"},
	{.name = "deadline",
		.type = OPT_DURATION,
		.offset = offsetof(struct arguments, deadline),
		.default_text = "60s",
		.min = 1,
		.help = "give up and exit 1 when not done by then"},
	{0},
};

void
probe_usage(const struct probe *probe, FILE *out)
{
	fprintf(out,
		"probe-%s: %s\n\n"
		"  probe-%s serve --listen ADDR [--deadline D] [name=value ...]\n"
		"  probe-%s run --peer ADDR --samples N [--deadline D] [name=value ...]\n"
		"  probe-%s check --samples N [name=value ...]    exit 2 if a run would refuse them\n"
		"  probe-%s describe\n\n"
		"serve:\n",
		probe->name, probe->summary, probe->name, probe->name, probe->name,
		probe->name);
	opts_usage(serve_table, "--", out);
	fputs("\nrun:\n", out);
	opts_usage(run_table, "--", out);
	fputs("\noptions, the same for both halves:\n", out);
	opts_usage(probe->options, "", out);
	fputs("\nmetrics:\n", out);
	for (const struct metric *metric = probe->metrics; metric->name; metric++)
		fprintf(out, "  %-20s %-11s %s\n", metric->name, record_unit_name(metric->unit),
			metric->help);
}

static int
usage_error(const struct probe *probe, const struct err *err)
{
	fprintf(stderr, "probe-%s: %s\nprobe-%s --help lists commands and options\n",
		probe->name, err->text, probe->name);
	return PROBE_USAGE;
}

/* Everything behind the command word, checked. */
static int
parse_call(const struct probe *probe, const struct opt *table, int argc, char **argv,
	struct arguments *args, void *options, struct err *err)
{
	int operands;

	opts_defaults(table, args);
	opts_defaults(probe->options, options);
	if (opts_parse(table, args, argc, argv, &operands, err) < 0)
		return -1;
	for (int i = 1; i <= operands; i++)
		if (opts_set_pair(probe->options, options, argv[i], err) < 0)
			return -1;
	if (table != check_table && !args->addr)
		return err_set(err, "option '--%s' is missing", table->name);
	if (table != serve_table && !args->samples)
		return err_set(err, "option '--samples' is missing");
	if (probe->check && probe->check(options, err) < 0)
		return -1;
	if (probe->check_samples && args->samples)
		return probe->check_samples(options, args->samples, err);
	return 0;
}

/* SIGTERM and SIGINT of a serving half arrive on a descriptor, so that none is ever missed
 * between a look and a wait. */
static int
open_stop_fd(struct err *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, "block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(err, "signalfd") : fd;
}

static void
on_sigterm(int signal)
{
	_exit(128 + signal);
}

/* The first process of a container is not ended by a signal it does not catch. */
static void
heed_sigterm(void)
{
	if (getpid() == 1)
		signal(SIGTERM, on_sigterm);
}

static void
print_options(const struct probe *probe, const void *options)
{
	for (const struct opt *option = probe->options; option->name; option++) {
		struct buf text = {0};

		opts_value(option, options, &text);
		if (text.len)
			record_info(stdout, option->name, "%s", text.data);
		buf_free(&text);
	}
}

/* Run one half between its deadline and its output. */
static int
perform(const struct probe *probe, struct probe_call *call, int64_t duration, struct err *err)
{
	char text[UNITS_TEXT_SIZE];
	static char last_words[128];
	int status;

	units_format(UNIT_DURATION, duration, text);
	snprintf(last_words, sizeof(last_words), "probe-%s: deadline of %s passed\n",
		probe->name, text);
	call->deadline_ns = clock_now() + duration;
	if (deadline_arm(call->deadline_ns, last_words, err) < 0)
		return -1;
	print_options(probe, call->options);
	status = call->samples ? probe->run(call, err) : probe->serve(call, err);
	if (status == -1 && clock_now() >= call->deadline_ns)
		err_prefix(err, "deadline of %s passed", text);
	if (status == 0 && (fflush(stdout) == EOF || ferror(stdout)))
		return err_sys(err, "write to stdout");
	return status;
}

static int
command(const struct probe *probe, const struct opt *table, int argc, char **argv)
{
	struct err err = {0};
	struct arguments args = {0};
	void *options = alloc_zero(1, probe->options_size);
	struct probe_call call = {.options = options, .stop_fd = -1};
	int status;

	if (parse_call(probe, table, argc, argv, &args, options, &err) < 0 ||
		(args.addr && addr_parse(args.addr, &call.addr, &err) < 0)) {
		status = usage_error(probe, &err);
		goto out;
	}
	status = PROBE_OK;
	if (table == check_table)
		goto out;
	call.samples = args.samples;
	signal(SIGPIPE, SIG_IGN);
	if (table == run_table)
		heed_sigterm();
	status = -1;
	if (table == run_table || (call.stop_fd = open_stop_fd(&err)) >= 0)
		status = perform(probe, &call, args.deadline, &err);
	if (status) {
		fflush(stdout);
		fprintf(stderr, "probe-%s: %s\n", probe->name, err.text);
	}
	status = status < 0 ? PROBE_FAILED : status;
out:
	if (call.stop_fd >= 0)
		close(call.stop_fd);
	opts_free(probe->options, options);
	free(options);
	return status;
}

static int
print_and_flush(const struct probe *probe, void (*print)(const struct probe *, FILE *))
{
	print(probe, stdout);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return PROBE_OK;
	fprintf(stderr, "probe-%s: write to stdout: %s\n", probe->name, strerror(errno));
	return PROBE_FAILED;
}

int
probe_main(const struct probe *probe, int argc, char **argv)
{
	static const char *const words[] = {"serve", "run", "check", "describe"};
	struct err err;
	const char *word = argc > 1 ? argv[1] : "";
	const char *near;

	if (!strcmp(word, "serve"))
		return command(probe, serve_table, argc - 1, argv + 1);
	if (!strcmp(word, "run"))
		return command(probe, run_table, argc - 1, argv + 1);
	if (!strcmp(word, "check"))
		return command(probe, check_table, argc - 1, argv + 1);
	if (!strcmp(word, "describe"))
		return print_and_flush(probe, probe_describe);
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
		return print_and_flush(probe, probe_usage);
	near = nearest_name(word, words, sizeof(words) / sizeof(*words));
	if (!*word)
		err_set(&err, "no command: expected serve, run, check or describe");
	else if (near)
		err_set(&err, "unknown command '%s': did you mean '%s'?", word, near);
	else
		err_set(&err, "unknown command '%s': expected serve, run, check or describe",
			word);
	return usage_error(probe, &err);
}
