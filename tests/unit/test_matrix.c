/* Matrix files: what they expand to, and the exact words with which they are refused. */
#include "run/matrix.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "check.h"
#include "run/awake.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct catalogue catalogue;
#define FOLDER "/tmp/rttmatrix-test.XXXXXX"

static char folder[] = FOLDER;

static const char *const profiles[][2] = {
	{"localhost", "{schema: 1, loopback: true}"},
	{"lan", "{schema: 1, rtt: 0.5ms}"},
	{"wan50", "{schema: 1, rtt: 50ms}"},
	{"broken", "{schema: 1, rtt: 50}"},
};

static const char describe[] = "option wait choice block|spin block -\n"
			       "option size size 1b..1mib 64b -\n"
			       "option hold count 1..10000 40 -\n"
			       "metric connect ns -\n"
			       "metric sent bytes -\n"
			       "metric connections count -\n";

/* What every matrix here starts with: six lines, so that `cells:` is on line 7. */
static const char head[] = "schema: 1\n"
			   "name: t\n"
			   "seed: 3\n"
			   "repeats: 2\n"
			   "profiles: [localhost, lan, wan50]\n"
			   "samples: {localhost: 400, lan: 200, wan50: 12}\n";

static char *
profile_path(size_t i)
{
	return alloc_printf("%s/%s.yaml", folder, profiles[i][0]);
}

static int
set_up(void)
{
	struct err err = {""};

	if (!mkdtemp(folder))
		return -1;
	for (size_t i = 0; i < COUNT(profiles); i++) {
		char *path = profile_path(i);

		file_write(path, profiles[i][1], strlen(profiles[i][1]), &err);
		free(path);
	}
	catalogue.probes = alloc_zero(1, sizeof(*catalogue.probes));
	catalogue.count = 1;
	return catalogue_parse("tcp", describe, &catalogue.probes[0], &err);
}

static void
tear_down(void)
{
	for (size_t i = 0; i < COUNT(profiles); i++) {
		char *path = profile_path(i);

		unlink(path);
		free(path);
	}
	rmdir(folder);
	catalogue_free(&catalogue);
}

static const char *
parse(const char *text, struct matrix *matrix)
{
	static struct err err;
	char *named;

	if (matrix_parse("m.yaml", text, strlen(text), folder, &catalogue, matrix, &err) == 0)
		return "read";
	named = strstr(err.text, folder); /* the same in every run */
	if (named)
		memcpy(named, FOLDER, strlen(FOLDER));
	return err.text;
}

/* `head`, "cells:" and the entries. */
static const char *
parse_cells(const char *cells, struct matrix *matrix)
{
	char *text = alloc_printf("%scells:\n%s", head, cells);
	const char *outcome = parse(text, matrix);

	free(text);
	return outcome;
}

struct refusal {
	const char *text, *message;
};

static void
check_cells(const struct refusal *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct matrix matrix;

		CHECK_TEXT(parse_cells(rows[i].text, &matrix), rows[i].message);
		matrix_free(&matrix);
	}
}

static void
test_awake(void)
{
	static const struct refusal rows[] = {
		{"  - {probe: tcp, vary: {awake: [on, of]}}\n",
			"m.yaml:8:37: unknown value of 'awake' 'of': did you mean 'on'?"},
		{"  - {probe: tcp, set: {awake: auto}}\n",
			"m.yaml:8:31: unknown value of 'awake' 'auto': known are on, off"},
	};
	struct matrix matrix;

	CHECK_TEXT(
		parse_cells("  - {probe: tcp, profiles: [localhost, lan], set: {size: 1kib}, "
			    "vary: {awake: [on, off]}}\n"
			    "  - {probe: tcp, profiles: [localhost, lan]}\n",
			&matrix),
		"read");
	CU_ASSERT_EQUAL_FATAL(matrix.cell_count, 6);
	CHECK_TEXT(matrix.cells[0].id, "tcp/awake=on;size=1kib/localhost/4");
	CHECK_TEXT(matrix.cells[2].id, "tcp/awake=off;size=1kib/localhost/4");
	for (int setting = AWAKE_AUTO; setting <= AWAKE_OFF; setting++) {
		matrix.awake = (enum awake_setting)setting;
		for (size_t i = 0; i < 2; i++) { /* what a cell says goes before the file */
			CU_ASSERT(awake_wanted(&matrix, &matrix.cells[i], AWAKE_BY_LOOPS));
			CU_ASSERT(!awake_wanted(&matrix, &matrix.cells[2 + i], AWAKE_BY_LOOPS));
			CHECK_INT(awake_wanted(&matrix, &matrix.cells[4 + i], AWAKE_BY_LOOPS),
				setting == AWAKE_ON);
		}
		CHECK_INT(awake_wanted(&matrix, &matrix.cells[4], AWAKE_BY_DEVICE),
			setting == AWAKE_ON);
		CHECK_INT(awake_wanted(&matrix, &matrix.cells[5], AWAKE_BY_DEVICE),
			setting != AWAKE_OFF);
		/* Over 0.5 ms; not on loopback. */
		CHECK_INT(awake_wanted(&matrix, &matrix.cells[4], AWAKE_BY_LOOPS_NEEDED),
			setting == AWAKE_ON);
		CHECK_INT(awake_wanted(&matrix, &matrix.cells[5], AWAKE_BY_LOOPS_NEEDED),
			setting != AWAKE_OFF);
	}
	matrix_free(&matrix);
	CHECK_TEXT(parse_cells("  - {probe: tcp, profiles: [wan50]}\n", &matrix), "read");
	CU_ASSERT(!awake_wanted(&matrix, &matrix.cells[0], AWAKE_BY_LOOPS_NEEDED));
	matrix_free(&matrix);
	check_cells(rows, COUNT(rows));
	CHECK_TEXT(
		parse("schema: 1\nname: t\nawake: onn\nprofiles: lan\ncells: [{probe: tcp}]\n",
			&matrix),
		"m.yaml:3:8: key 'awake': unknown setting of 'awake' 'onn': did you mean 'on'?");
	matrix_free(&matrix);
	CHECK_TEXT(parse("schema: 1\nname: t\nawake: on\nprofiles: lan\nsamples: 1\n"
			 "cells: [{probe: tcp}]\n",
			   &matrix),
		"read");
	CHECK_INT(matrix.awake, AWAKE_ON);
	matrix_free(&matrix);
}

static void
test_expand(void)
{
	static const char *const ids[] = {
		"tcp/size=1kib;wait=block/localhost/4",
		"tcp/size=1kib;wait=block/localhost/6",
		"tcp/size=1kib;wait=block/wan50/4",
		"tcp/size=1kib;wait=block/wan50/6",
		"tcp/size=1kib;wait=spin/localhost/4",
		"tcp/size=1kib;wait=spin/localhost/6",
		"tcp/size=1kib;wait=spin/wan50/4",
		"tcp/size=1kib;wait=spin/wan50/6",
		"tcp/default/lan/4",
		"other/mode=x/wan50/4",
	};
	struct matrix matrix;

	CHECK_TEXT(parse_cells("  - probe: tcp\n"
			       "    vary: {wait: [block, spin]}\n"
			       "    set: {size: 1kib}\n"
			       "    families: [4, '6']\n"
			       "    profiles: [localhost, wan50]\n"
			       "    deadline: 7s\n"
			       "  - {probe: tcp, profiles: lan, samples: 5}\n"
			       "  - probe: other\n"
			       "    command: sh\n"
			       "    set: {mode: x}\n"
			       "    profiles: wan50\n"
			       "    expect: {metric: anything, between: [1ms, 2ms]}\n",
			   &matrix),
		"read");
	CU_ASSERT_FATAL(matrix.cell_count == COUNT(ids));
	for (size_t i = 0; i < COUNT(ids); i++)
		CHECK_TEXT(matrix.cells[i].id, ids[i]);
	CHECK_TEXT(matrix.name, "t");
	CHECK_INT(matrix.seed, 3);
	CHECK_INT(matrix.repeats, 2);
	CHECK_INT(matrix.cells[0].samples, 400);
	CHECK_INT(matrix.cells[2].samples, 12);
	CHECK_INT(matrix.cells[8].samples, 5);
	CHECK_INT(matrix.cells[1].family, 6);
	CHECK_INT(matrix.cells[0].deadline_ns, 7 * NS_PER_S);
	CU_ASSERT(matrix.cells[0].profile == &matrix.profiles[0]);
	CU_ASSERT(matrix.cells[0].command == NULL);
	CHECK_TEXT(matrix.cells[9].command, "sh");
	CHECK_INT(matrix.cells[9].options.count, 1);
	CHECK_INT(matrix.cells[9].expect_count, 1);
	matrix_free(&matrix);
}

static void
test_defaults(void)
{
	struct matrix matrix;

	CHECK_TEXT(parse("{schema: 1, name: t, profiles: lan, samples: 9, cells: {probe: tcp}}",
			   &matrix),
		"read");
	CHECK_INT(matrix.seed, 1);
	CHECK_INT(matrix.repeats, 5);
	CHECK_INT(matrix.cell_count, 1);
	CHECK_TEXT(matrix.cells[0].id, "tcp/default/lan/4");
	CHECK_INT(matrix.cells[0].samples, 9);
	matrix_free(&matrix);
}

static void
test_exclude(void)
{
	struct matrix matrix;

	CHECK_TEXT(parse_cells("  - probe: tcp\n"
			       "    profiles: lan\n"
			       "    vary: {wait: [block, spin], size: [1b, 2b, 3b]}\n"
			       "    exclude: [{wait: spin, size: 1b}, {size: 3b}]\n",
			   &matrix),
		"read");
	CU_ASSERT_FATAL(matrix.cell_count == 3);
	CHECK_TEXT(matrix.cells[0].variant, "size=1b;wait=block");
	CHECK_TEXT(matrix.cells[1].variant, "size=2b;wait=block");
	CHECK_TEXT(matrix.cells[2].variant, "size=2b;wait=spin");
	matrix_free(&matrix);
}

static void
test_expect(void)
{
	struct matrix matrix;
	const struct expectation *expect;

	CHECK_TEXT(
		parse_cells(
			"  - probe: tcp\n"
			"    vary: {wait: [block, spin]}\n"
			"    expect:\n"
			"      - {metric: connect, where: {wait: spin}, profile: [lan, wan50], "
			"rtts: [0.98, 1.05]}\n"
			"      - {metric: connections, equals: samples}\n"
			"      - {metric: connections, profile: lan, equals: '1'}\n"
			"      - {metric: connect, between: [0.5ms, 1s]}\n"
			"      - {metric: sent, equals: 64kib}\n",
			&matrix),
		"read");
	CU_ASSERT_FATAL(matrix.cell_count == 6 && matrix.expect_count == 5);
	expect = matrix.expects;
	CHECK_INT(expect[0].kind, EXPECT_RTTS);
	CHECK_BETWEEN(expect[0].low * 1e6, 979999.999, 980000.001);
	CHECK_BETWEEN(expect[0].high * 1e6, 1049999.999, 1050000.001);
	CHECK_INT(expect[0].line, 11);
	CHECK_INT(expect[1].kind, EXPECT_EQUALS_SAMPLES);
	CHECK_INT(expect[2].kind, EXPECT_EQUALS);
	CHECK_INT(expect[2].low, 1);
	CHECK_INT(expect[3].kind, EXPECT_BETWEEN);
	CHECK_INT(expect[3].low, 500000);
	CHECK_INT(expect[3].high, 1000000000);
	CHECK_INT(expect[4].low, 65536);
	CHECK_TEXT(matrix.cells[0].id, "tcp/wait=block/localhost/4");
	CHECK_INT(matrix.cells[0].expect_count, 3); /* not rtts, not at lan */
	CHECK_TEXT(matrix.cells[4].id, "tcp/wait=spin/lan/4");
	CHECK_INT(matrix.cells[4].expect_count, 5);
	CU_ASSERT(matrix.cells[4].expects[0] == &matrix.expects[0]);
	matrix_free(&matrix);
}

static void
test_top(void)
{
	static const struct refusal rows[] = {
		{"", "m.yaml:1:1: the file is empty"},
		{"schema: 1\nname: t\n", "m.yaml:1:1: key 'profiles' is missing"},
		{"schema: 1\nname: t\nprofiles: lan\n", "m.yaml:1:1: key 'cells' is missing"},
		{"schema: 1\nprofils: lan\n",
			"m.yaml:2:1: unknown key 'profils': did you mean 'profiles'?"},
		{"schema: 1\nrtt: 50ms\n",
			"m.yaml:2:1: key 'rtt' is of a profile: a matrix names profiles, and "
			"'rttlink fates FILE' reads one"},
		{"schema: 1\nschema: 1\n",
			"m.yaml:2:1: duplicate key 'schema', first on line 1"},
		{"schema: 1\nname: a/b\nprofiles: lan\nsamples: 1\ncells: {probe: tcp}\n",
			"m.yaml:2:7: name 'a/b': expected up to 48 letters, digits, '-', '_' "
			"and "
			"'.', a letter or digit first"},
		{"schema: 1\nname: t\nprofiles: [lan, wan5]\nsamples: 1\ncells: {probe: tcp}\n",
			"m.yaml:3:17: unknown profile 'wan5': did you mean 'wan50'? (in " FOLDER
			")"},
		{"schema: 1\nname: t\nprofiles: [lan, \"wan5\"]\nsamples: 1\ncells: {probe: "
		 "tcp}\n",
			"m.yaml:3:17: unknown profile 'wan5': did you mean 'wan50'? (in " FOLDER
			")"},
		{"schema: 1\nname: t\nprofiles: [mars]\nsamples: 1\ncells: {probe: tcp}\n",
			"m.yaml:3:12: unknown profile 'mars': known are broken, lan, "
			"localhost, wan50 (in " FOLDER ")"},
		{"schema: 1\nname: t\nprofiles: [lan, lan]\nsamples: 1\ncells: {probe: tcp}\n",
			"m.yaml:3:17: profile 'lan' twice"},
		{"schema: 1\nname: t\nprofiles: ../lan\nsamples: 1\ncells: {probe: tcp}\n",
			"m.yaml:3:11: profile '../lan': expected up to 48 letters, digits, "
			"'-', "
			"'_' and '.', a letter or digit first"},
		{"schema: 1\nname: t\nprofiles: []\nsamples: 1\ncells: {probe: tcp}\n",
			"m.yaml:3:1: key 'profiles': empty list"},
		{"schema: 1\nname: t\nprofiles: lan\nfamilies: 5\ncells: {probe: tcp}\n",
			"m.yaml:4:11: '5' is not an address family: expected 4 or 6"},
		{"schema: 1\nname: t\nprofiles: lan\nfamilies: [4, 4]\ncells: {probe: tcp}\n",
			"m.yaml:4:15: address family 4 twice"},
		{"schema: 1\nname: t\nprofiles: lan\nsamples: 0\ncells: {probe: tcp}\n",
			"m.yaml:4:10: key 'samples': '0' is out of range: expected 1 to "
			"500000"},
		{"schema: 1\nname: t\nprofiles: lan\nsamples: {lna: 1}\ncells: {probe: tcp}\n",
			"m.yaml:4:11: unknown profile 'lna': did you mean 'lan'?"},
		{"schema: 1\nname: t\nprofiles: lan\ncells: {probe: tcp}\n",
			"m.yaml:4:8: no 'samples' for profile 'lan'"},
		{"schema: 1\nname: t\nprofiles: lan\nrepeats: 0\ncells: {probe: tcp}\n",
			"m.yaml:4:10: key 'repeats': '0' is out of range: expected 1 to 1000"},
		{"schema: 1\nname: t\nprofiles: lan\ncells: []\n",
			"m.yaml:4:1: key 'cells': empty list"},
		{"schema: 1\nname: t\nprofiles: lan\ncells: [tcp]\n",
			"m.yaml:4:9: expected a mapping, not text"},
	};
	struct matrix matrix;

	for (size_t i = 0; i < COUNT(rows); i++) {
		CHECK_TEXT(parse(rows[i].text, &matrix), rows[i].message);
		matrix_free(&matrix);
	}
	CHECK_TEXT(
		parse("{schema: 1, name: t, profiles: broken, samples: 1, cells: {probe: tcp}}",
			&matrix),
		FOLDER
		"/broken.yaml:1:18: key 'rtt': duration '50' has no unit: expected one such "
		"as 50ms, 500us or 1.5s");
}

static void
test_entries(void)
{
	static const struct refusal rows[] = {
		{"  - {probe: tpc}\n", "m.yaml:8:13: unknown probe 'tpc': did you mean 'tcp'?"},
		{"  - {probe: 'tpc'}\n",
			"m.yaml:8:13: unknown probe 'tpc': did you mean 'tcp'?"},
		{"  - {probe: quic}\n", "m.yaml:8:13: unknown probe 'quic': known are tcp"},
		{"  - {vary: {a: b}}\n", "m.yaml:8:5: key 'probe' is missing"},
		{"  - {probe: tcp, varry: {a: b}}\n",
			"m.yaml:8:18: unknown key 'varry': did you mean 'vary'?"},
		{"  - {probe: tcp, set: {wiat: block}}\n",
			"m.yaml:8:24: unknown option 'wiat': did you mean 'wait'?"},
		{"  - {probe: tcp, vary: {wait: [block, spun]}}\n",
			"m.yaml:8:39: option 'wait': 'spun' is not one of block|spin"},
		{"  - {probe: tcp, vary: {size: [64]}}\n",
			"m.yaml:8:32: option 'size': size '64' has no unit: expected one such "
			"as "
			"64b, 64kib or 1mib"},
		{"  - {probe: tcp, vary: {size: ['64']}}\n",
			"m.yaml:8:32: option 'size': size '64' has no unit: expected one such "
			"as "
			"64b, 64kib or 1mib"},
		{"  - {probe: tcp, vary: {wait: [spin, 'spin']}}\n",
			"m.yaml:8:38: option 'wait': 'spin' twice"},
		{"  - {probe: tcp, vary: {wait: [spin]}, set: {wait: block}}\n",
			"m.yaml:8:25: option 'wait' stands under both 'set' and 'vary'"},
		{"  - {probe: tcp, set: {wait: [spin]}}\n",
			"m.yaml:8:24: option 'wait': 'set' takes one value; several stand under 'vary'"},
		{"  - {probe: tcp, vary: {wait: []}}\n",
			"m.yaml:8:25: option 'wait': expected 1 to 1000 values"},
		{"  - {probe: tcp, awake: on}\n",
			"m.yaml:8:18: key 'awake' of a cell stands under its 'set' or 'vary'"},
		{"  - {probe: tcp, repeats: 3}\n",
			"m.yaml:8:18: key 'repeats' is one for the whole file"},
		{"  - {probe: x, command: no-such-program}\n",
			"m.yaml:8:25: command 'no-such-program' is not in PATH; a file beside "
			"the matrix is './no-such-program'"},
		{"  - {probe: x, command: sh, set: {a: b/c}}\n",
			"m.yaml:8:38: option 'a': 'b/c' has a '/', ';', '..' or space, which a "
			"cell's name cannot hold"},
		{"  - {probe: x, command: sh, set: {a: \"b c\"}}\n",
			"m.yaml:8:38: option 'a': 'b c' has a '/', ';', '..' or space, which a "
			"cell's name cannot hold"},
		{"  - {probe: x, command: sh, set: {a: ..}}\n",
			"m.yaml:8:38: option 'a': '..' has a '/', ';', '..' or space, which a "
			"cell's name cannot hold"},
		{"  - {probe: x, command: sh, set: {A=B: c}}\n",
			"m.yaml:8:35: option 'A=B': expected letters a-z, digits and '_'"},
		{"  - {probe: x/y, command: sh}\n",
			"m.yaml:8:13: probe 'x/y': expected up to 48 letters, digits, '-', '_' "
			"and '.', a letter or digit first"},
		{"  - {probe: tcp, profiles: [wan]}\n", "m.yaml:8:29: unknown profile of this "
							"matrix 'wan': did you mean 'lan'?"},
		{"  - {probe: tcp, profiles: [lan, lan]}\n",
			"m.yaml:8:34: profile 'lan' twice"},
		{"  - {probe: tcp, profiles: lan, samples: {wan50: 3}}\n",
			"m.yaml:8:43: unknown profile 'wan50': known are lan"},
		{"  - {probe: tcp, deadline: 10}\n",
			"m.yaml:8:28: key 'deadline': duration '10' has no unit: expected one "
			"such as 50ms, 500us or 1.5s"},
		{"  - {probe: tcp}\n  - {probe: tcp, profiles: lan}\n",
			"m.yaml:9:5: cell 'tcp/default/lan/4' is already made by line 8"},
	};

	check_cells(rows, COUNT(rows));
}

static void
test_conditions(void)
{
	static const struct refusal rows[] = {
		{"  - {probe: tcp, vary: {wait: [block, spin]}, exclude: [{wait: spn}]}\n",
			"m.yaml:8:64: key 'wait': unknown value 'spn': did you mean 'spin'?"},
		{"  - {probe: tcp, vary: {wait: [block, spin]}, exclude: [{wiat: spin}]}\n",
			"m.yaml:8:58: unknown option 'wiat': did you mean 'wait'?"},
		{"  - {probe: tcp, vary: {wait: [block, spin]}, exclude: [{size: 64b}]}\n",
			"m.yaml:8:58: option 'size' is neither under 'set' nor under 'vary', "
			"so "
			"this never matches"},
		{"  - {probe: tcp, vary: {wait: [block, spin]}, exclude: [{}]}\n",
			"m.yaml:8:57: empty mapping"},
		{"  - {probe: tcp, vary: {wait: [block, spin]}, exclude: [{wait: spin}, {wait: "
		 "block}]}\n",
			"m.yaml:8:5: this expands to no cell: 'exclude' leaves no variant"},
		{"  - probe: tcp\n    vary: {wait: [block, spin], size: [1b, 2b]}\n"
		 "    exclude: [{wait: spin}]\n"
		 "    expect: [{metric: connect, where: {wait: spin}, between: [1ms, 2ms]}]\n",
			"m.yaml:11:14: the 'where' of this expectation matches no cell"},
		{"  - {probe: tcp, set: {wait: spin}, expect: {metric: conect, equals: 1ms}}\n",
			"m.yaml:8:54: unknown metric 'conect': did you mean 'connect'?"},
		{"  - {probe: tcp, set: {wait: spin}, expect: {metric: \"conect\", equals: "
		 "1ms}}\n",
			"m.yaml:8:54: unknown metric 'conect': did you mean 'connect'?"},
		{"  - {probe: tcp, expect: {metric: connect, where: {wait: spin}, equals: "
		 "1ms}}\n",
			"m.yaml:8:52: option 'wait' is neither under 'set' nor under 'vary', "
			"so "
			"this never matches"},
		{"  - {probe: tcp, profiles: lan, expect: {metric: connect, profile: wan50, "
		 "equals: 1ms}}\n",
			"m.yaml:8:68: unknown profile 'wan50': known are lan"},
		{"  - {probe: tcp, expect: {metric: connect}}\n",
			"m.yaml:8:26: expected exactly one of 'rtts', 'equals' and 'between'"},
		{"  - {probe: tcp, expect: {metric: connect, equals: 1ms, between: [1ms, "
		 "2ms]}}\n",
			"m.yaml:8:26: expected exactly one of 'rtts', 'equals' and 'between'"},
		{"  - {probe: tcp, expect: {metric: connect, rtts: [1, 2]}}\n",
			"m.yaml:8:44: 'rtts' at profile 'localhost', which is loopback and has "
			"no "
			"round trip: name others under 'profile'"},
		{"  - {probe: tcp, expect: {metric: connections, profile: lan, rtts: [1, "
		 "2]}}\n",
			"m.yaml:8:62: 'rtts' of metric 'connections', whose unit is count: "
			"only a "
			"time can be counted in round trips"},
		{"  - {probe: tcp, expect: {metric: connect, profile: lan, rtts: [1, 2ms]}}\n",
			"m.yaml:8:68: '2ms' is not a number such as 0.98"},
		{"  - {probe: tcp, expect: {metric: connect, profile: lan, rtts: [2, 1]}}\n",
			"m.yaml:8:64: key 'rtts': 2 is larger than 1"},
		{"  - {probe: tcp, expect: {metric: connect, profile: lan, rtts: [2]}}\n",
			"m.yaml:8:64: key 'rtts': expected a list of 2"},
		{"  - {probe: tcp, expect: {metric: connect, between: [1, 2ms]}}\n",
			"m.yaml:8:54: duration '1' has no unit: expected one such as 50ms, "
			"500us "
			"or 1.5s"},
		{"  - {probe: tcp, expect: {metric: connections, between: [1, 2ms]}}\n",
			"m.yaml:8:61: '2ms' is not a whole number"},
		{"  - {probe: tcp, expect: {metric: connect, equals: samples}}\n",
			"m.yaml:8:52: key 'equals': 'samples' is a count, metric 'connect' is "
			"in "
			"ns"},
		{"  - {probe: tcp, expect: {metric: connections, equals: sample}}\n",
			"m.yaml:8:56: key 'equals': 'sample' is not a whole number"},
	};

	check_cells(rows, COUNT(rows));
}

/* Does an exclude that matches nothing, next to one that does, get found? */
static void
test_useless_exclude(void)
{
	struct matrix matrix;

	CHECK_TEXT(parse_cells("  - probe: x\n"
			       "    command: sh\n"
			       "    vary: {a: [1, 2], b: [1, 2]}\n"
			       "    exclude: [{a: 1, b: 2}, {a: 1, b: 3}]\n",
			   &matrix),
		"m.yaml:11:39: key 'b': unknown value '3': known are 1, 2");
}

/* "  - {probe: tcp, vary: {size: [1b, 2b, …]}}" with `count` values. */
static char *
sizes(int count, const char *more)
{
	struct buf text = {0};

	buf_puts(&text, "  - {probe: tcp, profiles: lan, vary: {size: [1b");
	for (int i = 2; i <= count; i++)
		buf_printf(&text, ", %db", i);
	buf_printf(&text, "]%s}}\n", more);
	return text.data;
}

static void
test_size(void)
{
	static const char too_many[] =
		"m.yaml:8:5: the matrix expands to more than 10000 cells (before 'exclude')";
	int64_t start = clock_now();
	struct buf axes = {0};
	struct matrix matrix;
	char *cells = sizes(1000, ", hold: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]");

	CHECK_TEXT(parse_cells(cells, &matrix), "read");
	CHECK_INT(matrix.cell_count, 10000);
	matrix_free(&matrix);
	free(cells);
	cells = sizes(1000, ", hold: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]");
	CHECK_TEXT(parse_cells(cells, &matrix), too_many);
	free(cells);
	/* 2^200 cells: the product must not be gone through, nor overflow to something small.
	 */
	buf_puts(&axes, "  - {probe: x, command: sh, vary: {a0: [1, 2]");
	for (int i = 1; i < 200; i++)
		buf_printf(&axes, ", a%d: [1, 2]", i);
	buf_puts(&axes, "}}\n");
	CHECK_TEXT(parse_cells(axes.data, &matrix), too_many);
	buf_clear(&axes);
	buf_puts(&axes, "  - {probe: x, command: sh, set: {a0: 1");
	for (int i = 1; i < 60; i++)
		buf_printf(&axes, ", a%d: 1", i);
	buf_puts(&axes, "}}\n");
	CHECK_TEXT(parse_cells(axes.data, &matrix),
		"m.yaml:8:5: the options of a variant take more than 200 bytes: "
		"a0=1;a1=1;a10=1;a11=1;a12=1;a13=1;a14=1;a15=1;a16=1;a17=1;a1...");
	buf_free(&axes);
	CHECK_BETWEEN(clock_now() - start, 0, 10 * NS_PER_S);
}

static void
select_from(struct matrix *matrix)
{
	CHECK_TEXT(
		parse_cells("  - {probe: tcp, vary: {wait: [block, spin]}}\n", matrix), "read");
	CHECK_INT(matrix->cell_count, 6);
}

static void
test_select(void)
{
	static const char *const wan[] = {"tcp/*/wan50/4"}, *const all[] = {"*"};
	static const char *const slashes[] = {"tcp*4", "*spin*"}, *const none[] = {"udp/*"};
	struct matrix matrix;
	struct err err = {""};

	select_from(&matrix);
	CHECK_INT(matrix_select(&matrix, wan, 1, NULL, 0, &err), 0);
	CHECK_INT(matrix.cell_count, 2);
	CHECK_TEXT(matrix.cells[1].id, "tcp/wait=spin/wan50/4");
	matrix_free(&matrix);
	select_from(&matrix);
	CHECK_INT(matrix_select(&matrix, slashes, 2, wan, 1, &err), 0);
	CHECK_INT(matrix.cell_count, 4);
	CHECK_INT(matrix_select(&matrix, NULL, 0, none, 1, &err), -1);
	CHECK_TEXT(err.text,
		"pattern 'udp/*' matches no cell of m.yaml; its cells are of the form "
		"tcp/wait=block/localhost/4");
	CHECK_INT(matrix_select(&matrix, none, 1, NULL, 0, &err), -1);
	CHECK_INT(matrix_select(&matrix, NULL, 0, all, 1, &err), -1);
	CHECK_TEXT(err.text, "no cell of m.yaml is left by --select and --exclude");
	CHECK_INT(matrix.cell_count, 4);
	matrix_free(&matrix);
}

static void
test_shard(void)
{
	static const char *const bad[] = {
		"", "1", "0/2", "3/2", "a/b", "1/", "/2", "1/2/3", "-1/2"};
	struct matrix matrix;
	struct err err;

	select_from(&matrix);
	for (size_t i = 0; i < COUNT(bad); i++) {
		char *expected = alloc_printf(
			"shard '%s' is not of the form I/N with 1 <= I <= N", bad[i]);

		CHECK_INT(matrix_shard(&matrix, bad[i], &err), -1);
		CHECK_TEXT(err.text, expected);
		free(expected);
	}
	CHECK_INT(matrix_shard(&matrix, "7/9", &err), -1);
	CHECK_TEXT(err.text, "shard '7/9' of 6 cells is empty");
	CHECK_INT(matrix_shard(&matrix, "2/4", &err), 0);
	CU_ASSERT_FATAL(matrix.cell_count == 2);
	CHECK_TEXT(matrix.cells[0].id, "tcp/wait=block/lan/4");
	CHECK_TEXT(matrix.cells[1].id, "tcp/wait=spin/wan50/4");
	matrix_free(&matrix);
}

static void
test_times(void)
{
	struct profile loopback = {.loopback = true};
	struct profile lossy = {.path = {{.delay_ns = 25 * NS_PER_MS, .loss_ppm = 10000},
					{.delay_ns = 25 * NS_PER_MS, .jitter_ns = NS_PER_MS}}};
	struct profile dead = {.path = {{.delay_ns = 30 * NS_PER_S, .loss_ppm = 1000000},
				       {.delay_ns = 30 * NS_PER_S, .loss_ppm = 1000000}}};
	struct cell cell = {.profile = &lossy, .samples = 10};
	char name[] = "workers", value[] = "4";
	struct setting workers = {name, value};
	char pace_name[] = "pace", pace_value[] = "2ms";
	struct setting pace = {pace_name, pace_value};

	CHECK_INT(cell_deadline_ns(&loopback, 100), 11 * NS_PER_S);
	/* 10 s + 10 x (400 ms + 2 ms + 10 ms + 240 ms) */
	CHECK_INT(cell_deadline_ns(&lossy, 10), 10 * NS_PER_S + 10 * 652 * NS_PER_MS);
	CHECK_INT(cell_deadline_ns(&dead, 100000000), 86400 * NS_PER_S);
	CHECK_INT(cell_estimate_ns(&cell), 2152 * NS_PER_MS);
	cell.options = (struct settings){&workers, 1}; /* three rounds, the last one short */
	CHECK_INT(cell_estimate_ns(&cell), 752 * NS_PER_MS);
	cell.options = (struct settings){&pace, 1}; /* whatever the round trip */
	CHECK_INT(cell_estimate_ns(&cell),
		150 * NS_PER_MS + 8 * 50 * NS_PER_MS + 10 * 2 * NS_PER_MS);
	cell.options = (struct settings){0};
	cell.loopback = name; /* skipped at that profile */
	CHECK_INT(cell_estimate_ns(&cell), 0);
	cell.profile = &loopback;
	CHECK_INT(cell_estimate_ns(&cell), 152 * NS_PER_MS);
}

/* A probe of one machine says so, and each of its cells knows why. */
static void
test_loopback(void)
{
	static const char text[] = "schema: 1\nname: t\nprofiles: [localhost, lan]\n"
				   "samples: 5\ncells: {probe: near}\n";
	struct catalogue own = {.count = 1};
	struct probe_desc near;
	struct matrix matrix;
	struct err err = {""};

	CHECK_INT(catalogue_parse(
			  "near", "metric a ns -\nloopback no link has any\n", &near, &err),
		0);
	own.probes = &near;
	CHECK_INT(matrix_parse("m.yaml", text, strlen(text), folder, &own, &matrix, &err), 0);
	CHECK_TEXT(err.text, "");
	CHECK_INT(matrix.cell_count, 2);
	CHECK_TEXT(matrix.cells[0].loopback, "no link has any");
	CHECK_TEXT(matrix.cells[1].loopback, "no link has any");
	matrix_free(&matrix);
	probe_desc_free(&near);
}

static void
test_read(void)
{
	struct matrix matrix;
	struct err err;

	CHECK_INT(matrix_read("/nonexistent/m.yaml", folder, &catalogue, &matrix, &err), -1);
	CHECK_TEXT(err.text, "open /nonexistent/m.yaml: No such file or directory");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"cells, in the file's order", test_expand},
		{"awake", test_awake},
		{"what need not be said", test_defaults},
		{"exclude", test_exclude},
		{"expectations, narrowed to cells", test_expect},
		{"refused: the top", test_top},
		{"refused: entries", test_entries},
		{"refused: exclude and expect", test_conditions},
		{"refused: an exclude without effect", test_useless_exclude},
		{"the limits, under a second", test_size},
		{"select and exclude", test_select},
		{"shards", test_shard},
		{"deadline and estimate", test_times},
		{"a probe of one machine", test_loopback},
		{"a file that is none", test_read},
		CU_TEST_INFO_NULL,
	};
	int status;

	if (set_up() < 0)
		return 1;
	status = check_main("matrix", tests);
	tear_down();
	return status;
}
