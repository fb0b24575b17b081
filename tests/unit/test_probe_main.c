/* The shared main() of the probes: exit statuses, and that the runner reads what describe
 * prints. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "probe/probe.h"
#include "run/catalogue.h"

struct options {
	struct placement placement;
	int64_t size, count, pause;
	bool quick;
	const char *text;
};

static const struct opt option_table[] = {
	PLACEMENT_OPTIONS(struct options, placement),
	{"size", OPT_SIZE, offsetof(struct options, size), "64b", NULL, 1, 1 << 20, "bytes"},
	{"count", OPT_COUNT, offsetof(struct options, count), "3", NULL, 0, 9, "how many"},
	{"pause", OPT_DURATION, offsetof(struct options, pause), "1.5ms", NULL, 1, 0, "time"},
	{"quick", OPT_FLAG, offsetof(struct options, quick), NULL, NULL, 0, 0, "a flag"},
	{"text", OPT_TEXT, offsetof(struct options, text), "", NULL, 0, 0, "a text"},
	{0},
};

static const struct metric metric_table[] = {
	{"latency", RECORD_NS, "a time"},
	{"things", RECORD_COUNT_UNIT, "a number"},
	{0},
};

static int
check(const void *options, struct err *err)
{
	return placement_check(&((const struct options *)options)->placement, err);
}

/* Ends as `count` says. */
static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;

	if (options->count == 1)
		return err_set(err, "it broke");
	if (options->count == 2) {
		err_set(err, "not here");
		return PROBE_UNSUPPORTED;
	}
	for (; options->count == 3;)
		pause();
	return 0;
}

static const struct probe toy = {
	.name = "toy",
	.summary = "a probe that measures nothing",
	.options = option_table,
	.options_size = sizeof(struct options),
	.metrics = metric_table,
	.check = check,
	.serve = run,
	.run = run,
};

/* Run probe_main() with the words of `line` in a child; its status, stderr in `text`. */
static int
try(const char *line, char *text, size_t size)
{
	char copy[256], *argv[16] = {0}, *rest = copy, *word;
	int argc = 0, status = 0, ends[2];
	size_t len = 0;
	ssize_t got;
	pid_t child;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	if (pipe(ends) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		if (!freopen("/dev/null", "w", stdout))
			_exit(99);
		_exit(probe_main(&toy, argc, argv));
	}
	close(ends[1]);
	while ((got = read(ends[0], text + len, size - 1 - len)) > 0)
		len += (size_t)got;
	text[len] = '\0';
	close(ends[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void
expect(const char *line, int status, const char *first_words)
{
	char text[1024];
	int got = try(line, text, sizeof(text));

	if (got != status || strncmp(text, first_words, strlen(first_words)) != 0)
		fprintf(stderr, "%s: exit %d, says: %s\n", line, got, text);
	CHECK_INT(got, status);
	CHECK_INT(strncmp(text, first_words, strlen(first_words)), 0);
}

#define RUN "toy run --peer 127.0.0.1:1 --samples 1"

static void
test_usage(void)
{
	expect("toy", 2, "probe-toy: no command: expected serve, run, check or describe");
	expect("toy rnu", 2, "probe-toy: unknown command 'rnu': did you mean 'run'?");
	expect("toy run --peer 127.0.0.1:1", 2, "probe-toy: option '--samples' is missing");
	expect("toy run --samples 1", 2, "probe-toy: option '--peer' is missing");
	expect("toy serve", 2, "probe-toy: option '--listen' is missing");
	expect("toy run --peer localhost:1 --samples 1", 2,
		"probe-toy: 'localhost:1' is not an");
	expect(RUN " --samples 0", 2, "probe-toy: option 'samples': 0 is out of range");
	expect(RUN " --deadlin 1s", 2, "probe-toy: unknown option '--deadlin': did you mean");
	expect(RUN " szie=1b", 2, "probe-toy: unknown option 'szie': did you mean 'size'?");
	expect(RUN " size", 2, "probe-toy: 'size' is not of the form name=value");
	expect(RUN " size=64", 2, "probe-toy: option 'size': ");
	expect(RUN " wait=sleep", 2,
		"probe-toy: option 'wait': 'sleep' is not one of block|spin");
	expect(RUN " wait=spin cpu=same", 2, "probe-toy: wait=spin needs a core for each half");
	expect("toy check", 2, "probe-toy: option '--samples' is missing");
	expect("toy check --samples 1 size=64", 2, "probe-toy: option 'size': ");
	expect("toy check --samples 1 wait=spin cpu=same", 2,
		"probe-toy: wait=spin needs a core for each half");
	expect("toy check --samples 1 count=1", 0, ""); /* it runs nothing */
	expect("toy --help", 0, "");
	expect("toy describe", 0, "");
}

static void
test_ends(void)
{
	expect(RUN " count=0", 0, "");
	expect(RUN " count=1", 1, "probe-toy: it broke\n");
	expect(RUN " count=2", 77, "probe-toy: not here\n");
	expect(RUN " --deadline 20ms count=3", 1, "probe-toy: deadline of 20ms passed\n");
}

static void
test_describe(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct probe_desc desc;
	struct err err = {0};

	probe_describe(&toy, out);
	fclose(out);
	CHECK_TEXT(text, "check\n"
			 "option wait choice block|spin block sleep in the system call, or "
			 "call it over and over\n"
			 "option cpu choice any|same|split any cores of client and server: "
			 "free, one for both, one each\n"
			 "option size size 1b..1mib 64b bytes\n"
			 "option count count 0..9 3 how many\n"
			 "option pause duration 1ns.. 1.5ms time\n"
			 "option quick flag - - a flag\n"
			 "option text text - - a text\n"
			 "metric latency ns a time\n"
			 "metric things count a number\n");
	CHECK_INT(catalogue_parse("toy", text, &desc, &err), 0);
	CHECK_TEXT(err.text, "");
	CHECK_INT(desc.option_count, 7);
	CHECK_INT(desc.metric_count, 2);
	CHECK_INT(probe_desc_check(&desc, "size", "2mib", &err), -1);
	CHECK_INT(probe_desc_check(&desc, "wait", "spin", &err), 0);
	probe_desc_free(&desc);
	free(text);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"bad usage", test_usage},
		{"exit status", test_ends},
		{"describe", test_describe},
		CU_TEST_INFO_NULL,
	};

	return check_main("probe", tests);
}
