/* What probes say of themselves: read strictly, asked for real. */
#include "run/catalogue.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *
parse(const char *text, struct probe_desc *probe)
{
	static struct err err;

	if (catalogue_parse("x", text, probe, &err) < 0)
		return err.text;
	return "read";
}

static void
test_parse(void)
{
	struct probe_desc probe;

	CHECK_TEXT(parse("option wait choice block|spin block how to wait\n"
			 "option size size 1b..1mib 64b bytes\n"
			 "option idle duration 0.5ms.. 20ms idle\n"
			 "option path text - / what to ask for\n"
			 "option host text - -\n"
			 "option warm flag - false warm up\n"
			 "metric connect ns connect()\n"
			 "check\n"
			 "loopback pipes do not cross a link\n"
			 "\n"
			 "metric connections count accepted by the server\n",
			   &probe),
		"read");
	CHECK_TEXT(probe.name, "x");
	CHECK_INT(probe.option_count, 6);
	CU_ASSERT(probe.options[6].name == NULL);
	CHECK_TEXT(probe.options[0].choices, "block|spin");
	CHECK_TEXT(probe.options[0].help, "how to wait");
	CHECK_INT(probe.options[1].min, 1);
	CHECK_INT(probe.options[1].max, 1 << 20);
	CHECK_INT(probe.options[2].min, 500000);
	CHECK_INT(probe.options[2].max, 0);
	CHECK_TEXT(probe.options[3].default_text, "/");
	CU_ASSERT(probe.options[4].default_text == NULL);
	CHECK_INT(probe.metric_count, 2);
	CU_ASSERT_TRUE(probe.checks);
	CHECK_TEXT(probe.loopback, "pipes do not cross a link");
	CHECK_TEXT(probe.metrics[1].name, "connections");
	CHECK_INT(probe.metrics[1].unit, RECORD_COUNT_UNIT);
	probe_desc_free(&probe);
}

static void
test_check(void)
{
	static const struct {
		const char *name, *value, *message;
	} rows[] = {
		{"wait", "spin", "ok"},
		{"wait", "spun", "option 'wait': 'spun' is not one of block|spin"},
		{"wiat", "spin", "unknown option 'wiat': did you mean 'wait'?"},
		{"size", "64b", "ok"},
		{"size", "2mib", "option 'size': 2mib is out of range: expected 1b to 1mib"},
		{"size", "64",
			"option 'size': size '64' has no unit: expected one such as 64b, "
			"64kib or 1mib"},
		{"warm", "true", "ok"},
		{"warm", "on", "option 'warm': 'on' is neither true nor false"},
	};
	struct probe_desc probe;

	CHECK_TEXT(parse("option wait choice block|spin block -\n"
			 "option size size 1b..1mib 64b -\n"
			 "option warm flag - false -\n"
			 "metric connect ns -\n",
			   &probe),
		"read");
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err err = {"ok"};

		probe_desc_check(&probe, rows[i].name, rows[i].value, &err);
		CHECK_TEXT(err.text, rows[i].message);
	}
	CU_ASSERT(probe.loopback == NULL);
	probe_desc_free(&probe);
}

static void
test_refusals(void)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "probe-x describe: no metrics"},
		{"hello world\n",
			"probe-x describe: line 1: expected 'option', 'metric', 'check' or 'loopback', not 'hello'"},
		{"loopback\n", "probe-x describe: line 1: expected loopback REASON"},
		{"loopback a\nloopback b\n", "probe-x describe: line 2: loopback twice"},
		{"metric a ns\nmetric\n",
			"probe-x describe: line 2: expected metric NAME UNIT HELP"},
		{"metric a furlongs far\n",
			"probe-x describe: line 1: unknown unit 'furlongs'"},
		{"metric A ns\n", "probe-x describe: line 1: 'A' is not a metric name"},
		{"metric a ns\nmetric a ns\n", "probe-x describe: line 2: metric 'a' twice"},
		{"option a text -\n", "probe-x describe: line 1: expected option NAME TYPE "
				      "VALUES DEFAULT HELP"},
		{"option a word - - x\n",
			"probe-x describe: line 1: unknown option type 'word'"},
		{"option a;b text - - x\n",
			"probe-x describe: line 1: 'a;b' is not an option name"},
		{"option a text - - x\noption a text - - x\n",
			"probe-x describe: line 2: option 'a' twice"},
		{"option a choice - - x\n",
			"probe-x describe: line 1: choice 'a' has no values"},
		{"option a count 5 - x\n",
			"probe-x describe: line 1: range '5' is not of the form MIN..MAX"},
		{"option a size 1..5b - x\n",
			"probe-x describe: line 1: size '1' has no unit: expected one such as "
			"64b, 64kib or 1mib"},
		{"option a count 1..5 9 x\n",
			"probe-x describe: line 1: default: option 'a': 9 is out of range: "
			"expected 1 to 5"},
	};
	struct probe_desc probe;

	for (size_t i = 0; i < COUNT(rows); i++)
		CHECK_TEXT(parse(rows[i].text, &probe), rows[i].message);
}

static void
put_script(const char *folder, const char *name, const char *body, mode_t mode)
{
	char *path = alloc_printf("%s/%s", folder, name);
	struct err err = {""};

	CHECK_INT(file_write(path, body, strlen(body), &err), 0);
	CHECK_TEXT(err.text, "");
	chmod(path, mode);
	free(path);
}

static void
remove_script(const char *folder, const char *name)
{
	char *path = alloc_printf("%s/%s", folder, name);

	unlink(path);
	free(path);
}

static void
test_load(void)
{
	char folder[] = "/tmp/rttmatrix-test.XXXXXX";
	struct catalogue catalogue;
	struct err err = {""};
	char *expected;

	CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
	put_script(folder, "probe-beta", "#!/bin/sh\necho metric b ns x\n", 0755);
	put_script(folder, "probe-alpha", "#!/bin/sh\necho metric a ns \"$1\"\n", 0755);
	put_script(folder, "probe-notes", "not a program\n", 0644);
	put_script(folder, "rttlink", "#!/bin/sh\nexit 1\n", 0755);
	CHECK_INT(catalogue_load(folder, &catalogue, &err), 0);
	CHECK_TEXT(err.text, "");
	CHECK_INT(catalogue.count, 2);
	CHECK_TEXT(catalogue.probes[0].name, "alpha");
	CHECK_TEXT(catalogue.probes[0].metrics[0].help, "describe");
	CU_ASSERT(catalogue_find(&catalogue, "beta") == &catalogue.probes[1]);
	CU_ASSERT(catalogue_find(&catalogue, "gamma") == NULL);
	catalogue_free(&catalogue);

	put_script(folder, "probe-broken", "#!/bin/sh\necho no such thing >&2\nexit 3\n", 0755);
	CHECK_INT(catalogue_load(folder, &catalogue, &err), -1);
	expected = alloc_printf("%s/probe-broken describe: exit 3: no such thing", folder);
	CHECK_TEXT(err.text, expected);
	free(expected);
	remove_script(folder, "probe-beta");
	remove_script(folder, "probe-alpha");
	remove_script(folder, "probe-notes");
	remove_script(folder, "probe-broken");
	remove_script(folder, "rttlink");
	rmdir(folder);

	CHECK_INT(catalogue_load("/nonexistent", &catalogue, &err), -1);
	CHECK_TEXT(err.text, "read folder /nonexistent: No such file or directory");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"describe is read", test_parse},
		{"options are checked", test_check},
		{"what is refused, in which words", test_refusals},
		{"a folder of probes is asked", test_load},
		CU_TEST_INFO_NULL,
	};

	return check_main("catalogue", tests);
}
