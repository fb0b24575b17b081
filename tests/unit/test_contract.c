/* The parts of a contract check that start nothing: tallies, refused values, ready lines. */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/units.h"
#include "run/contract.h"
#include "run/contract_subject.h"
#include "run/tally.h"

static int
read_text(struct tally *tally, const char *text, struct err *err)
{
	struct buf output = {0};
	int status;

	*tally = (struct tally){0};
	buf_puts(&output, text);
	status = tally_read(tally, &output, err);
	buf_free(&output);
	return status;
}

/* What `check` says of the records: 0, or -1 with the reason in `err`. */
static int
judge(int (*check)(const struct tally *, struct err *), const char *text, struct err *err)
{
	struct tally tally;
	int status = read_text(&tally, text, err);

	if (status == 0)
		status = check(&tally, err);
	tally_free(&tally);
	return status;
}

static void
test_records(void)
{
	struct err err;

	CHECK_INT(judge(tally_measured, "info a b\nsample x ns 1\nsample x ns 2\n", &err), 0);
	CHECK_INT(judge(tally_measured, "count x 1\n", &err), 0);
	CHECK_INT(judge(tally_measured, "info a b\ncount x_errors 3\n", &err), -1);
	CHECK_INT(judge(tally_measured, "count x 1\ncount x 1\n", &err), -1);
	CHECK_TEXT(err.text, "line 2: count 'x' is printed twice");
	CHECK_INT(judge(tally_measured, "sample x ns 1\nsample x bytes 1\n", &err), -1);
	CHECK_TEXT(err.text, "line 2: metric 'x' changes its kind or unit");
	CHECK_INT(judge(tally_measured, "sample x count 1\ncount x 1\n", &err), -1);
	CHECK_INT(judge(tally_measured, "sample x ns 1,5\n", &err), -1);
}

static int
three(const struct tally *tally, struct err *err)
{
	return tally_complete(tally, 3, err);
}

static void
test_samples(void)
{
	struct err err;

	CHECK_INT(judge(three, "sample x ns 1\nsample x ns 1\nsample x ns 1\n", &err), 0);
	CHECK_INT(judge(three, "sample x ns 1\nsample x ns 1\ncount x_errors 1\n", &err), 0);
	CHECK_INT(judge(three, "count x 7\n", &err), 0);
	CHECK_INT(judge(three, "sample x ns 1\nsample x ns 1\n", &err), -1);
	CHECK_TEXT(err.text, "2 of x");
}

static struct probe_desc desc;

static int
listed(const struct tally *tally, struct err *err)
{
	return tally_listed(tally, &desc, err);
}

static void
test_listed(void)
{
	struct err err;

	CHECK_INT(catalogue_parse("x", "metric x ns a\nmetric y_errors count b\n", &desc, &err),
		0);
	CHECK_INT(
		judge(listed, "sample x ns 1\ncount x_errors 1\ncount y_errors 1\n", &err), 0);
	CHECK_INT(judge(listed, "count y 1\n", &err), -1);
	CHECK_TEXT(err.text, "'y', which it does not list");
	CHECK_INT(judge(listed, "sample x bytes 1\n", &err), -1);
	CHECK_TEXT(err.text, "'x' in bytes, which it lists in ns");
	CHECK_INT(judge(listed, "count z_errors 1\n", &err), -1);
	probe_desc_free(&desc);
}

static void
test_apart(void)
{
	struct tally a, b;
	struct err err;

	CHECK_INT(read_text(&a, "count x 1\ncount y 1\n", &err), 0);
	CHECK_INT(read_text(&b, "count z 1\ninfo x 1\n", &err), 0);
	CHECK_INT(tally_apart(&a, &b, &err), 0);
	tally_free(&b);
	CHECK_INT(read_text(&b, "sample y ns 1\n", &err), 0);
	CHECK_INT(tally_apart(&a, &b, &err), -1);
	CHECK_TEXT(err.text, "both halves printed 'y'");
	tally_free(&a);
	tally_free(&b);
}

/* All bad values of an option, joined; each is one that the option itself refuses. */
static void
check_bad_values(const char *line, const char *expected)
{
	struct probe_desc probe;
	struct buf all = {0};
	struct err err;
	char *pair, *text = NULL;

	buf_printf(&all, "option o %s help\nmetric x ns a\n", line);
	CHECK_INT(catalogue_parse("x", buf_text(&all), &probe, &err), 0);
	buf_clear(&all);
	for (int which = 0; (pair = contract_bad_value(&probe.options[0], which)); which++) {
		CHECK_INT(probe_desc_check(&probe, "o", strchr(pair, '=') + 1, &err), -1);
		buf_printf(&all, "%s%s", which ? " " : "", pair);
		free(pair);
	}
	text = strdup(buf_text(&all));
	CHECK_TEXT(text, expected);
	free(text);
	buf_free(&all);
	probe_desc_free(&probe);
}

static void
test_bad_values(void)
{
	check_bad_values("text - -", "");
	check_bad_values("flag - false", "o=no_such_value");
	check_bad_values("choice a|b a", "o=no_such_value");
	check_bad_values("count 1..1400 64", "o=no_such_value o=0 o=1401");
	check_bad_values("count 0..5 1", "o=no_such_value o=6");
	check_bad_values("duration 10ms.. 20ms", "o=no_such_value o=9999.999us");
	check_bad_values("size 0b..64kib 1b", "o=no_such_value o=65537b");
}

static void
test_ready(void)
{
	struct err err;

	CHECK_INT(contract_ready("127.0.0.1:0", "127.0.0.1:65535", &err), 0);
	CHECK_INT(contract_ready("[::1]:0", "[::1]:7000", &err), 0);
	CHECK_INT(contract_ready("[::1]:0", "[0:0:0:0:0:0:0:1]:7000", &err), 0);
	CHECK_INT(contract_ready("127.0.0.1:0", "127.0.0.1:0", &err), -1);
	CHECK_TEXT(err.text,
		"expected 'ready' with 127.0.0.1 and its real port, came 'ready 127.0.0.1:0'");
	CHECK_INT(contract_ready("127.0.0.1:0", "0.0.0.0:7000", &err), -1);
	CHECK_INT(contract_ready("127.0.0.1:0", "localhost:7000", &err), -1);
	CHECK_INT(contract_ready("127.0.0.1:0", "127.0.0.1:65536", &err), -1);
	CHECK_INT(contract_ready("127.0.0.1:0", "127.0.0.1", &err), -1);
	CHECK_INT(contract_ready("127.0.0.1:0", "", &err), -1);
	CHECK_INT(contract_ready("127.0.0.1:0", ":", &err), -1);
	CHECK_INT(contract_ready("[::1]:0", "[:", &err), -1);
	CHECK_INT(contract_ready("[::1]:0", "::1:7000", &err), -1);
	CHECK_INT(contract_ready("[::1]:0", "127.0.0.1:7000", &err), -1);
}

/* How a `docker run` that ended with `status` and these words is told. */
static int
tell(int status, const char *words, struct err *err)
{
	struct trial trial = TRIAL_INIT;
	char name[] = "rttmatrix-1";
	int unstarted;

	trial.event = CHILD_EXITED;
	trial.child.what = "serve";
	trial.child.status = status;
	trial.container = name;
	buf_puts(&trial.err, words);
	unstarted = trial_unstarted(&trial);
	trial_tell(&trial, err);
	buf_free(&trial.err);
	return unstarted;
}

static void
test_unstarted(void)
{
	static const char help[] = "\nRun 'docker run --help' for more information\n";
	char words[128];
	struct err err;

	snprintf(words, sizeof(words), "docker: stat /x: no such file%s", help);
	CHECK_INT(tell(127, words, &err), TRIAL_NO_PROGRAM);
	CHECK_TEXT(err.text, "its entry point is not there: docker: stat /x: no such file");
	CHECK_INT(tell(126, "WARNING: x\ndocker: permission denied\n", &err), TRIAL_NO_EXEC);
	CHECK_TEXT(err.text, "its entry point cannot be executed: docker: permission denied");
	CHECK_INT(tell(125, "Error: no such network\n", &err), TRIAL_ENGINE);
	CHECK_TEXT(err.text, "the engine could not run it: Error: no such network");
	/* The probe's own. */
	CHECK_INT(tell(127, "what docker: x\n", &err), 0);
	CHECK_TEXT(err.text, "serve ended with 127, stderr 'what docker: x'");
	CHECK_INT(tell(1, "docker: x\n", &err), 0);
	CHECK_INT(tell(0, "", &err), 0);
}

static void
test_subject(void)
{
	struct subject subject;
	struct err err;

	setenv("DOCKER", "no-engine", 1);
	CHECK_INT(subject_find(&subject, "/bin/sh", &err), 0);
	CHECK_INT(subject.kind == &subject_program, true);
	CHECK_INT(subject_find(&subject, "/proc/self/mem", &err), -1);
	CHECK_TEXT(err.text, "'/proc/self/mem' is not an executable file");
	CHECK_INT(subject_find(&subject, "-x", &err), -1);
	CHECK_TEXT(err.text, "'-x' is not an executable file, nor the name of an image");
	CHECK_INT(subject_find(&subject, "nowhere", &err), -1);
	CHECK_INT(subject.kind == &subject_image, true);
	CHECK_INT(strncmp(err.text,
			  "'nowhere' is not an executable file, nor an image here: ", 56),
		0);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"records", test_records},
		{"samples", test_samples},
		{"listed", test_listed},
		{"apart", test_apart},
		{"bad values", test_bad_values},
		{"ready", test_ready},
		{"unstarted", test_unstarted},
		{"subject", test_subject},
		CU_TEST_INFO_NULL,
	};

	return check_main("contract", tests);
}
