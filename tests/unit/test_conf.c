/* The strict YAML reader: what it takes, and the exact words with which it refuses. */
#include "conf/doc.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "conf/table.h"
#include "conf/utf8.h"
#include "check.h"

struct refusal {
	const char *text, *message;
};

/* The error of reading `text`, or "read". */
static const char *
outcome(const char *text, size_t len)
{
	static struct err err;
	struct conf_doc doc;

	if (conf_parse("f.yaml", text, len, &doc, &err) < 0)
		return err.text;
	conf_free(&doc);
	return "read";
}

static void
check_refusals(const struct refusal *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		CHECK_TEXT(outcome(rows[i].text, strlen(rows[i].text)), rows[i].message);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
test_tree(void)
{
	static const char text[] = "\xef\xbb\xbf# comment\r\n---\r\n"
				   "a: 1\r\n'b': [x, \"y z\"]\r\nc:\r\n  d: {e: on}\r\n...\r\n";
	struct err err = {""};
	struct conf_doc doc;
	const struct conf_node *b, *e;
	size_t count;

	CHECK_INT(conf_parse("f", text, sizeof(text) - 1, &doc, &err), 0);
	CHECK_TEXT(err.text, "");
	CU_ASSERT_FATAL(doc.root.count == 3);
	CHECK_TEXT(conf_get(&doc.root, "a")->text, "1");
	b = conf_get(&doc.root, "b");
	CHECK_INT(b->kind, CONF_LIST);
	CHECK_TEXT(b->items[1].text, "y z");
	CHECK_INT(b->items[1].line, 4);
	CHECK_INT(b->items[1].column, 10);
	CHECK_INT(b->key_column, 1);
	e = conf_get(conf_get(conf_get(&doc.root, "c"), "d"), "e");
	CHECK_TEXT(e->text, "on");
	CHECK_INT(e->line, 6);
	CHECK_INT(conf_items(b, &count) == b->items, 1);
	CHECK_INT(count, 2);
	CHECK_INT(conf_items(e, &count) == e, 1);
	CHECK_INT(count, 1);
	CU_ASSERT(conf_get(&doc.root, "z") == NULL);
	conf_free(&doc);
}

static void
test_structure(void)
{
	static const struct refusal rows[] = {
		{"", "f.yaml:1:1: the file is empty"},
		{"# only a comment\n", "f.yaml:1:1: the file is empty"},
		{"---\n", "f.yaml:2:1: the file is empty"},
		{"\n\n", "f.yaml:1:1: the file is empty"},
		{"a: 1\na: 2\n", "f.yaml:2:1: duplicate key 'a', first on line 1"},
		{"a: 1\n'a': 2\n", "f.yaml:2:1: duplicate key 'a', first on line 1"},
		{"x: {a: 1, b: 2, \"a\": 3}\n",
			"f.yaml:1:17: duplicate key 'a', first on line 1"},
		{"<<: {a: 1}\n",
			"f.yaml:1:1: merge key '<<' is not allowed: write the keys out"},
		{"x:\n  '<<': y\n",
			"f.yaml:2:3: merge key '<<' is not allowed: write the keys out"},
		{"a: 1\n---\nb: 2\n",
			"f.yaml:2:1: a second document starts here: one file holds one"},
		{"a: 1\n---\n",
			"f.yaml:2:1: a second document starts here: one file holds one"},
		{"- a\n", "f.yaml:1:1: expected 'key: value' lines"},
		{"word\n", "f.yaml:1:1: expected 'key: value' lines"},
		{"a:\nb: 1\n", "f.yaml:1:1: key 'a' has no value"},
		{"a: ''\n", "f.yaml:1:1: key 'a' has no value"},
		{"a: [x, '']\n", "f.yaml:1:8: empty value"},
		{"'': x\n", "f.yaml:1:1: empty key"},
		{"[a]: x\n", "f.yaml:1:1: a key must be text"},
		{"? {a: b}\n: x\n", "f.yaml:1:3: a key must be text"},
	};

	check_refusals(rows, COUNT(rows));
}

static void
test_extras(void)
{
	static const char anchors[] =
		"anchors and aliases (& and *) are not allowed: write the "
		"value out";
	static const struct {
		const char *text;
		int column;
	} rows[] = {
		{"a: &x [*x]\n", 4},        /* a cycle */
		{"a: &x {b: *x}\n", 4},     /* another */
		{"&x a: 1\n", 1},           /* an anchor on a key */
		{"a: *nowhere\n", 4},       /* an alias of nothing */
		{"a: [&x lol, *x, *x]", 5}, /* how a bomb begins */
		{"a: &x\n", 4},             /* an anchor on nothing */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char expected[128];

		snprintf(
			expected, sizeof(expected), "f.yaml:1:%d: %s", rows[i].column, anchors);
		CHECK_TEXT(outcome(rows[i].text, strlen(rows[i].text)), expected);
	}
	CHECK_TEXT(outcome("a: !!str 5\n", 11),
		"f.yaml:1:4: tags (!) are not allowed: every value is text");
	CHECK_TEXT(outcome("a: !mine [x]\n", 13),
		"f.yaml:1:4: tags (!) are not allowed: every value is text");
	CHECK_TEXT(outcome("a: !!null\n", 10),
		"f.yaml:1:4: tags (!) are not allowed: every value is text");
	CHECK_TEXT(outcome("%YAML 1.1\n---\na: 1\n", 19),
		"f.yaml:1:1: directives (%) are not allowed");
	CHECK_TEXT(outcome("%TAG ! tag:x,2000:\n---\na: 1\n", 28),
		"f.yaml:1:1: directives (%) are not allowed");
}

static void
test_bytes(void)
{
	static const struct refusal rows[] = {
		{"a: 1\n\tb: 2\n", "f.yaml:2:1: tab in the indentation: use spaces"},
		{"a:\n  \tb: 2\n", "f.yaml:2:3: tab in the indentation: use spaces"},
		{"a: [x,\r\n\ty]\r\n", "f.yaml:2:1: tab in the indentation: use spaces"},
		{"a: 1\t# fine\n", "read"},
		{"a: \xff\n", "f.yaml:1:4: not UTF-8"},
		{"\xff\xfe", "f.yaml:1:1: not UTF-8"},
		{"a: caf\xc3\xa9 \xc3(\n", "f.yaml:1:9: not UTF-8"},
		{"a: \xc0\xaf\n", "f.yaml:1:4: not UTF-8"},         /* overlong */
		{"a: \xed\xa0\x80\n", "f.yaml:1:4: not UTF-8"},     /* surrogate */
		{"a: \xf4\x90\x80\x80\n", "f.yaml:1:4: not UTF-8"}, /* above U+10FFFF */
		{"a: \xe2\x82", "f.yaml:1:4: not UTF-8"},           /* cut off */
		{"a: \x1b[31m\n", "f.yaml:1:4: control character U+001B"},
		{"a: 1\xc2\x85z: 2\n", "f.yaml:1:5: control character U+0085"},
		{"a: \"x\\0y\"\n", "f.yaml:1:4: control character in a value"},
		{"\"a\\e\": x\n", "f.yaml:1:1: control character in a key"},
		{"a: \"x\\ny\"\n", "f.yaml:1:4: line break in a value"},
		{"a: |\n  x\n", "f.yaml:1:4: line break in a value"},
		{"a: caf\xc3\xa9\n", "read"},
	};

	check_refusals(rows, COUNT(rows));
	CHECK_TEXT(outcome("a: x\0y", 6), "f.yaml:1:5: control character U+0000");
}

static void
test_syntax(void)
{
	static const struct refusal rows[] = {
		{"a: [1\n",
			"f.yaml:2:1: not valid YAML: did not find expected ',' or ']' while "
			"parsing a flow sequence"},
		{"a: 'x\n", "f.yaml:2:1: not valid YAML: found unexpected end of stream while "
			    "scanning a quoted scalar"},
		{"a: b: c\n",
			"f.yaml:1:5: not valid YAML: mapping values are not allowed in this "
			"context"},
		{"a: 1\n  b: 2\n",
			"f.yaml:2:4: not valid YAML: mapping values are not allowed in this "
			"context"},
	};

	check_refusals(rows, COUNT(rows));
}

/* `count` times `open`, "x", `count` times `close`. */
static struct buf
nested(const char *before, const char *open, const char *close, int count)
{
	struct buf text = {0};

	buf_puts(&text, before);
	for (int i = 0; i < count; i++)
		buf_puts(&text, open);
	buf_puts(&text, "x");
	for (int i = 0; i < count; i++)
		buf_puts(&text, close);
	return text;
}

static void
test_limits(void)
{
	struct buf text = nested("a: ", "[", "]", CONF_DEPTH_MAX - 1);
	int64_t start = clock_now();

	CHECK_TEXT(outcome(text.data, text.len), "read");
	buf_free(&text);
	text = nested("a: ", "[", "]", CONF_DEPTH_MAX);
	CHECK_TEXT(outcome(text.data, text.len), "f.yaml:1:13: nested too deeply");
	buf_free(&text);
	text = nested("a: ", "[", "]", 20000);
	CHECK_TEXT(outcome(text.data, text.len), "f.yaml:1:13: nested too deeply");
	buf_free(&text);
	text = nested("", "{a: ", "}", 20000);
	CHECK_TEXT(outcome(text.data, text.len), "f.yaml:1:41: nested too deeply");
	buf_free(&text);
	text = nested("a: [x", ",x", "", CONF_NODES_MAX);
	CHECK_TEXT(
		outcome(text.data, text.len), "f.yaml:1:199999: too many values for one file");
	buf_free(&text);
	for (int i = 0; i <= CONF_KEYS_MAX; i++)
		buf_printf(&text, "k%d: x\n", i);
	CHECK_TEXT(outcome(text.data, text.len), "f.yaml:257:1: too many keys in one mapping");
	buf_free(&text);
	text = nested("a: ", "x", "", CONF_TEXT_MAX);
	CHECK_TEXT(outcome(text.data, text.len), "f.yaml:1:4: value longer than 255 bytes");
	buf_free(&text);
	text = nested("a: ", " ", "", (int)CONF_BYTES_MAX);
	CHECK_TEXT(outcome(text.data, text.len), "f.yaml:1:1: larger than 1048576 bytes");
	buf_free(&text);
	CHECK_BETWEEN(clock_now() - start, 0, 10 * NS_PER_S);
}

struct sample {
	struct conf_number count, delay, rate, loss, flag;
	const struct conf_node *word, *words, *maps, *map;
};

#define SAMPLE(member) offsetof(struct sample, member)

static const struct conf_key sample_table[] = {
	{"count", CONF_COUNT, SAMPLE(count), true, 1, 9},
	{"delay", CONF_DURATION, SAMPLE(delay), false, 0, 60 * NS_PER_S},
	{"rate", CONF_RATE, SAMPLE(rate), false, 1000, 1000000},
	{"loss", CONF_PERCENT, SAMPLE(loss), false, 0, 1000000},
	{"flag", CONF_FLAG, SAMPLE(flag), false, 0, 0},
	{"word", CONF_WORD, SAMPLE(word), false, 0, 0},
	{"words", CONF_WORDS, SAMPLE(words), false, 2, 2},
	{"maps", CONF_MAPS, SAMPLE(maps), false, 1, 2},
	{"map", CONF_MAPPING, SAMPLE(map), false, 0, 0},
	{0},
};

static const char *
fill(const char *text, struct sample *sample)
{
	static struct err err;
	struct conf_doc doc;
	int status;

	*sample = (struct sample){0};
	if (conf_parse("f.yaml", text, strlen(text), &doc, &err) < 0)
		return err.text;
	status = conf_fill(&doc, &doc.root, sample_table, sample, &err);
	conf_free(&doc);
	return status < 0 ? err.text : "read";
}

static void
test_table(void)
{
	static const struct refusal rows[] = {
		{"{count: 3, cuont: 4}",
			"f.yaml:1:12: unknown key 'cuont': did you mean 'count'?"},
		{"{count: 3, zzzzzz: 4}", "f.yaml:1:12: unknown key 'zzzzzz': known are count, "
					  "delay, rate, loss, "
					  "flag, word, words, maps, map"},
		{"delay: 1ms", "f.yaml:1:1: key 'count' is missing"},
		{"count: 10", "f.yaml:1:8: key 'count': '10' is out of range: expected 1 to 9"},
		{"count: '10'",
			"f.yaml:1:8: key 'count': '10' is out of range: expected 1 to 9"},
		{"count: 1.5", "f.yaml:1:8: key 'count': '1.5' is not a whole number"},
		{"count: -1", "f.yaml:1:8: key 'count': '-1' is not a whole number"},
		{"count: [1]", "f.yaml:1:8: key 'count': expected text, not a list"},
		{"{count: 1, delay: 50}", "f.yaml:1:19: key 'delay': duration '50' has no "
					  "unit: expected one such "
					  "as 50ms, 500us or 1.5s"},
		{"{count: 1, delay: '50'}", "f.yaml:1:19: key 'delay': duration '50' has no "
					    "unit: expected one such "
					    "as 50ms, 500us or 1.5s"},
		{"{count: 1, delay: 2m}",
			"f.yaml:1:19: key 'delay': '2m' is out of range: expected 0ns to 60s"},
		{"{count: 1, rate: 2mbit}",
			"f.yaml:1:18: key 'rate': '2mbit' is out of range: expected 1kbit to "
			"1mbit"},
		{"{count: 1, loss: 150%}",
			"f.yaml:1:18: key 'loss': '150%' is out of range: expected 0% to 100%"},
		{"{count: 1, flag: yes}",
			"f.yaml:1:18: key 'flag': 'yes' is neither true nor false"},
		{"{count: 1, word: {a: b}}",
			"f.yaml:1:18: key 'word': expected text, not a mapping"},
		{"{count: 1, words: [a]}", "f.yaml:1:19: key 'words': expected a list of 2"},
		{"{count: 1, words: a}", "f.yaml:1:19: key 'words': expected a list of 2"},
		{"{count: 1, words: []}", "f.yaml:1:12: key 'words': empty list"},
		{"{count: 1, words: [a, [b]]}", "f.yaml:1:23: expected text, not a list"},
		{"{count: 1, maps: [{a: 1}, {a: 1}, {a: 1}]}",
			"f.yaml:1:18: key 'maps': more than 2 items"},
		{"{count: 1, maps: [a]}", "f.yaml:1:19: expected a mapping, not text"},
		{"{count: 1, map: [a]}",
			"f.yaml:1:17: key 'map': expected a mapping, not a list"},
		{"{count: 1, map: {}}", "f.yaml:1:12: key 'map': empty mapping"},
	};
	struct sample sample;

	for (size_t i = 0; i < COUNT(rows); i++)
		CHECK_TEXT(fill(rows[i].text, &sample), rows[i].message);
	CHECK_TEXT(fill("{count: \"3\", delay: 0.5ms, rate: 10kbit, loss: 1%, flag: true, "
			"word: w, words: [a, b], maps: {a: 1}, map: {b: 2}}",
			   &sample),
		"read");
	CHECK_INT(sample.count.value, 3);
	CHECK_INT(sample.delay.value, 500000);
	CHECK_INT(sample.rate.value, 10000);
	CHECK_INT(sample.loss.value, 10000);
	CHECK_INT(sample.flag.value, 1);
	CU_ASSERT(sample.word && sample.words && sample.maps && sample.map);
	CHECK_TEXT(fill("count: 3", &sample), "read");
	CU_ASSERT(!sample.delay.at && !sample.word && !sample.map);
}

static void
test_unknown(void)
{
	static const char *const names[] = {"alpha", "beta"};
	struct err err = {""};

	CHECK_INT(conf_unknown("letter", "alhpa", names, 2, &err), -1);
	CHECK_TEXT(err.text, "unknown letter 'alhpa': did you mean 'alpha'?");
	conf_unknown("letter", "omicron", names, 2, &err);
	CHECK_TEXT(err.text, "unknown letter 'omicron': known are alpha, beta");
	conf_unknown("letter", "omicron", names, 0, &err);
	CHECK_TEXT(err.text, "unknown letter 'omicron': none is known");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"the tree, its positions, BOM and CRLF", test_tree},
		{"structure that is refused", test_structure},
		{"anchors, aliases, tags, directives", test_extras},
		{"bytes: tabs, UTF-8, control characters", test_bytes},
		{"syntax errors are libyaml's", test_syntax},
		{"limits, under a second", test_limits},
		{"tables: every type and its errors", test_table},
		{"the nearest known name", test_unknown},
		CU_TEST_INFO_NULL,
	};

	return check_main("conf", tests);
}
