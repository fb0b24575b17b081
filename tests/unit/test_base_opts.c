/* Option tables: every type, every error text, the usage. */
#include "check.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/opts.h"

struct settings {
	bool quiet;
	const char *output;
	int64_t repeats, deadline_ns, size;
	int wait;
	const char *link;
	struct opt_list select;
};

#define AT(member) offsetof(struct settings, member)

static const struct opt table[] = {
	{"quiet", OPT_FLAG, AT(quiet), NULL, NULL, 0, 0, "no progress"},
	{"output", OPT_TEXT, AT(output), "results", "DIR", 0, 0, "where results go"},
	{"repeats", OPT_COUNT, AT(repeats), "5", NULL, 1, 100, "how often"},
	{"deadline", OPT_DURATION, AT(deadline_ns), "30s", NULL, 1000000, 0, "when to give up"},
	{"size", OPT_SIZE, AT(size), "64b", NULL, 1, 65536, "each way"},
	{"wait", OPT_CHOICE, AT(wait), "block", "block|spin", 0, 0, "how to wait"},
	{"link", OPT_WORD, AT(link), "auto", "auto|netem|tun", 0, 0, "what shapes"},
	{"select", OPT_LIST, AT(select), NULL, "GLOB", 0, 0, "only these"},
	{.name = NULL},
};

static void
defaults(void)
{
	struct settings s = {0};

	opts_defaults(table, &s);
	CHECK_INT(s.quiet, false);
	CHECK_TEXT(s.output, "results");
	CHECK_INT(s.repeats, 5);
	CHECK_INT(s.deadline_ns, INT64_C(30000000000));
	CHECK_INT(s.size, 64);
	CHECK_INT(s.wait, 0);
	CHECK_TEXT(s.link, "auto");
	CHECK_INT(s.select.count, 0);
}

static void
parses_a_command_line(void)
{
	char *argv[] = {"run", "--quiet", "m.yaml", "--repeats", "7", "--size=1kib", "--wait",
		"spin", "--link=tun", "--select", "tls/*", "--select=dns/*", "--deadline",
		"1.5s", "--", "--output", "-x", NULL};
	struct settings s = {0};
	struct err err = {0};
	int operands = -1;

	opts_defaults(table, &s);
	CHECK_INT(opts_parse(table, &s, 17, argv, &operands, &err), 0);
	CHECK_TEXT(err.text, "");
	CHECK_INT(operands, 3);
	CHECK_TEXT(argv[1], "m.yaml");
	CHECK_TEXT(argv[2], "--output");
	CHECK_TEXT(argv[3], "-x");
	CHECK_INT(s.quiet, true);
	CHECK_INT(s.repeats, 7);
	CHECK_INT(s.size, 1024);
	CHECK_INT(s.wait, 1);
	CHECK_TEXT(s.link, "tun");
	CHECK_INT(s.deadline_ns, 1500000000);
	CHECK_INT(s.select.count, 2);
	CHECK_TEXT(s.select.values[0], "tls/*");
	CHECK_TEXT(s.select.values[1], "dns/*");
	opts_free(table, &s);
	CHECK_INT(s.select.count, 0);
}

static void
refuses_a_command_line(void)
{
	static const struct {
		const char *first, *second, *error;
	} cases[] = {
		{"--repeat", "1", "unknown option '--repeat': did you mean '--repeats'?"},
		{"--frobnicate", NULL, "unknown option '--frobnicate'"},
		{"--frobnicate=1", NULL, "unknown option '--frobnicate'"},
		{"-q", NULL, "unknown option '-q': options start with two dashes"},
		{"--repeats", NULL, "option '--repeats' needs a value"},
		{"--repeats", "0", "option 'repeats': 0 is out of range: expected 1 to 100"},
		{"--repeats", "101",
			"option 'repeats': 101 is out of range: expected 1 to 100"},
		{"--repeats", "x", "option 'repeats': 'x' is not a whole number"},
		{"--repeats=", NULL, "option 'repeats': '' is not a whole number"},
		{"--deadline", "5",
			"option 'deadline': duration '5' has no unit: expected one such as "
			"50ms, "
			"500us or 1.5s"},
		{"--deadline", "1us",
			"option 'deadline': 1us is too small: expected at least 1ms"},
		{"--size", "1mib", "option 'size': 1mib is out of range: expected 1b to 64kib"},
		{"--wait", "nap", "option 'wait': 'nap' is not one of block|spin"},
		{"--wait", "bloc", "option 'wait': 'bloc' is not one of block|spin"},
		{"--wait", "block|spin",
			"option 'wait': 'block|spin' is not one of block|spin"},
		{"--link", "", "option 'link': '' is not one of auto|netem|tun"},
		{"--quiet=yes", NULL, "option 'quiet': 'yes' is neither true nor false"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char first[64], second[64];
		char *argv[] = {"run", first, second, NULL};
		struct settings s = {0};
		struct err err = {0};
		int operands;

		snprintf(first, sizeof(first), "%s", cases[i].first);
		snprintf(second, sizeof(second), "%s", cases[i].second ? cases[i].second : "");
		opts_defaults(table, &s);
		CHECK_INT(opts_parse(table, &s, cases[i].second ? 3 : 2, argv, &operands, &err),
			-1);
		CHECK_TEXT(err.text, cases[i].error);
		opts_free(table, &s);
	}
}

static void
sets_pairs(void)
{
	struct settings s = {0};
	struct err err = {0};

	opts_defaults(table, &s);
	CHECK_INT(opts_set_pair(table, &s, "size=2kib", &err), 0);
	CHECK_INT(s.size, 2048);
	CHECK_INT(opts_set_pair(table, &s, "quiet=true", &err), 0);
	CHECK_INT(s.quiet, true);
	CHECK_INT(opts_set_pair(table, &s, "output=a=b", &err), 0);
	CHECK_TEXT(s.output, "a=b");
	CHECK_INT(opts_set_pair(table, &s, "size", &err), -1);
	CHECK_TEXT(err.text, "'size' is not of the form name=value");
	CHECK_INT(opts_set_pair(table, &s, "=1", &err), -1);
	CHECK_TEXT(err.text, "'=1' is not of the form name=value");
	CHECK_INT(opts_set_pair(table, &s, "siez=1b", &err), -1);
	CHECK_TEXT(err.text, "unknown option 'siez': did you mean 'size'?");
}

static void
ranges_include_their_ends(void)
{
	struct settings s = {0};
	struct err err;

	CHECK_INT(opts_set(table, &s, "repeats", "1", &err), 0);
	CHECK_INT(s.repeats, 1);
	CHECK_INT(opts_set(table, &s, "repeats", "100", &err), 0);
	CHECK_INT(s.repeats, 100);
	CHECK_INT(opts_set(table, &s, "deadline", "1ms", &err), 0);
}

/* A refused value leaves the old one. */
static void
keeps_what_was_set(void)
{
	struct settings s = {0};

	opts_defaults(table, &s);
	CHECK_INT(opts_set(table, &s, "repeats", "1000", NULL), -1);
	CHECK_INT(opts_set(table, &s, "wait", "no", NULL), -1);
	CHECK_INT(s.repeats, 5);
	CHECK_INT(s.wait, 0);
}

static void
values_can_be_set_again(void)
{
	struct settings s = {0}, t = {0};
	struct err err;

	opts_defaults(table, &s);
	opts_set(table, &s, "wait", "spin", &err);
	opts_set(table, &s, "deadline", "1234us", &err);
	opts_set(table, &s, "select", "x", &err);
	opts_set(table, &s, "select", "y", &err);
	for (const struct opt *option = table; option->name; option++) {
		struct buf text = {0}, again = {0};

		opts_value(option, &s, &text);
		if (option->type != OPT_LIST)
			CHECK_INT(opts_set(table, &t, option->name, buf_text(&text), &err), 0);
		else
			CHECK_TEXT(buf_text(&text), "x,y");
		opts_value(option, &t, &again);
		if (option->type != OPT_LIST && option->type != OPT_TEXT &&
			option->type != OPT_WORD)
			CHECK_TEXT(buf_text(&again), buf_text(&text));
		buf_free(&text);
		buf_free(&again);
	}
	CHECK_INT(t.deadline_ns, 1234000);
	CHECK_INT(t.wait, 1);
	opts_free(table, &s);
}

static void
prints_usage(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	opts_usage(table, "--", out);
	fclose(out);
	CU_ASSERT(strstr(text, "  --quiet                         no progress\n") != NULL);
	CU_ASSERT(strstr(text, "  --output DIR                    where results go (default "
			       "results)\n") != NULL);
	CU_ASSERT(strstr(text, "  --repeats N ") != NULL);
	CU_ASSERT(strstr(text, "  --wait block|spin ") != NULL);
	CU_ASSERT(strstr(text, "  --select GLOB ") != NULL);
	free(text);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"defaults", defaults},
		{"parses a command line", parses_a_command_line},
		{"refuses a command line", refuses_a_command_line},
		{"sets pairs", sets_pairs},
		{"ranges include their ends", ranges_include_their_ends},
		{"keeps what was set", keeps_what_was_set},
		{"values can be set again", values_can_be_set_again},
		{"prints usage", prints_usage},
		CU_TEST_INFO_NULL,
	};

	return check_main("base opts", tests);
}
