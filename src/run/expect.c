/* Reads expectations: what a metric should be, and in which cells. */
#include "run/entry.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

struct expect_keys {
	const struct conf_node *metric, *where, *profile, *rtts, *equals, *between;
};

#define KEY(member) offsetof(struct expect_keys, member)

/* clang-format off */
static const struct conf_key expect_table[] = {
	{"metric",  CONF_WORD,    KEY(metric),  true,  0, 0},
	{"where",   CONF_MAPPING, KEY(where),   false, 0, 0},
	{"profile", CONF_WORDS,   KEY(profile), false, 1, ENTRY_ITEMS_MAX},
	{"rtts",    CONF_WORDS,   KEY(rtts),    false, 2, 2},
	{"equals",  CONF_WORD,    KEY(equals),  false, 0, 0},
	{"between", CONF_WORDS,   KEY(between), false, 2, 2},
	{0},
};
/* clang-format on */

/* What is known of a metric; of a command's, nothing. */
struct metric {
	bool known;
	enum record_unit unit;
};

static int
find_metric(struct reading *reading, const struct entry *entry, const struct conf_node *node,
	struct metric *metric)
{
	const struct probe_desc *desc = entry->desc;
	const char **names;

	*metric = (struct metric){.known = desc != NULL};
	if (!desc)
		return 0;
	for (size_t i = 0; i < desc->metric_count; i++) {
		if (strcmp(desc->metrics[i].name, node->text))
			continue;
		metric->unit = desc->metrics[i].unit;
		return 0;
	}
	names = alloc_zero(desc->metric_count, sizeof(*names));
	for (size_t i = 0; i < desc->metric_count; i++)
		names[i] = desc->metrics[i].name;
	conf_unknown("metric", node->text, names, desc->metric_count, reading->err);
	free(names);
	return conf_place(&reading->doc, node, reading->err);
}

/* "0.98": digits with at most one point between them, at most nine of either. */
static int
parse_real(const char *text, double *value, struct err *err)
{
	size_t whole = strspn(text, "0123456789");
	size_t decimals = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
	size_t len = decimals ? whole + 1 + decimals : whole;
	double scale = 1;

	if (!whole || text[len] || whole > 9 || decimals > 9)
		return err_set(err, "'%s' is not a number such as 0.98", text);
	*value = 0;
	for (size_t i = 0; i < len; i++) {
		if (i == whole)
			continue;
		*value = *value * 10 + (text[i] - '0');
		if (i > whole)
			scale *= 10;
	}
	*value /= scale;
	return 0;
}

static int
parse_any(const char *text, int64_t *number, struct err *err)
{
	if (units_parse(UNIT_DURATION, text, number, NULL) == 0 ||
		units_parse(UNIT_SIZE, text, number, NULL) == 0)
		return 0;
	return units_parse_count(text, number, err);
}

/* A value in the unit of its metric; of an unknown metric, in whatever unit it carries. */
static int
parse_value(const struct metric *metric, const char *text, double *value, struct err *err)
{
	int64_t number = 0;
	int status;

	if (!metric->known)
		status = parse_any(text, &number, err);
	else if (metric->unit == RECORD_NS)
		status = units_parse(UNIT_DURATION, text, &number, err);
	else if (metric->unit == RECORD_COUNT_UNIT)
		status = units_parse_count(text, &number, err);
	else
		status = units_parse(UNIT_SIZE, text, &number, err);
	*value = (double)number;
	return status;
}

/* The two ends of rtts: or between:. */
static int
read_range(struct reading *reading, const struct conf_node *node, const struct metric *metric,
	struct expectation *expect)
{
	double *ends[] = {&expect->low, &expect->high};

	for (int i = 0; i < 2; i++) {
		const char *text = node->items[i].text;
		int status = expect->kind == EXPECT_RTTS
				     ? parse_real(text, ends[i], reading->err)
				     : parse_value(metric, text, ends[i], reading->err);

		if (status < 0)
			return conf_place(&reading->doc, &node->items[i], reading->err);
	}
	if (expect->low > expect->high)
		return conf_error(&reading->doc, node, reading->err,
			"key '%s': %s is larger than %s", node->key, node->items[0].text,
			node->items[1].text);
	return 0;
}

/* Round trips need a link and a time. */
static int
check_rtts(struct reading *reading, const struct entry *entry, const struct conf_node *node,
	const struct metric *metric, const struct expectation *expect)
{
	if (metric->known && metric->unit != RECORD_NS)
		return conf_key_error(&reading->doc, node, reading->err,
			"'rtts' of metric '%s', whose unit is %s: only a time can be counted "
			"in round trips",
			expect->metric, record_unit_name(metric->unit));
	for (size_t i = 0; i < entry->profile_count; i++) {
		const struct profile *profile = entry->profiles[i];

		if (profile->loopback && expect_has_profile(expect, profile->name))
			return conf_key_error(&reading->doc, node, reading->err,
				"'rtts' at profile '%s', which is loopback and has no round "
				"trip: name others under 'profile'",
				profile->name);
	}
	return 0;
}

static int
read_equals(struct reading *reading, const struct conf_node *node, const struct metric *metric,
	struct expectation *expect)
{
	if (!strcmp(node->text, "samples")) {
		if (metric->known && metric->unit != RECORD_COUNT_UNIT)
			return conf_error(&reading->doc, node, reading->err,
				"key 'equals': 'samples' is a count, metric '%s' is in %s",
				expect->metric, record_unit_name(metric->unit));
		expect->kind = EXPECT_EQUALS_SAMPLES;
		return 0;
	}
	expect->kind = EXPECT_EQUALS;
	if (parse_value(metric, node->text, &expect->low, reading->err) < 0)
		return conf_value_error(&reading->doc, node, reading->err);
	expect->high = expect->low;
	return 0;
}

static int
read_kind(struct reading *reading, const struct entry *entry, const struct conf_node *node,
	const struct expect_keys *keys, struct expectation *expect)
{
	int given = !!keys->rtts + !!keys->equals + !!keys->between;
	struct metric metric;

	if (find_metric(reading, entry, keys->metric, &metric) < 0)
		return -1;
	if (given != 1)
		return conf_error(&reading->doc, node, reading->err,
			"expected exactly one of 'rtts', 'equals' and 'between'");
	if (keys->equals)
		return read_equals(reading, keys->equals, &metric, expect);
	if (keys->between) {
		expect->kind = EXPECT_BETWEEN;
		return read_range(reading, keys->between, &metric, expect);
	}
	expect->kind = EXPECT_RTTS;
	if (check_rtts(reading, entry, keys->rtts, &metric, expect) < 0)
		return -1;
	return read_range(reading, keys->rtts, &metric, expect);
}

static int
read_where(struct reading *reading, const struct entry *entry, const struct conf_node *node,
	struct expectation *expect)
{
	if (!node)
		return 0;
	if (entry_check_condition(reading, entry, node) < 0)
		return -1;
	for (size_t i = 0; i < node->count; i++)
		settings_add(&expect->where, node->items[i].key, node->items[i].text);
	settings_sort(&expect->where);
	return 0;
}

static int
read_profile(struct reading *reading, const struct entry *entry, const struct conf_node *node,
	struct expectation *expect)
{
	const char **known = alloc_zero(entry->profile_count, sizeof(*known));
	const struct conf_node *items;
	size_t count = 0;
	int status = 0;

	for (size_t i = 0; i < entry->profile_count; i++)
		known[i] = entry->profiles[i]->name;
	items = node ? conf_items(node, &count) : NULL;
	expect->profiles = alloc_zero(count, sizeof(*expect->profiles));
	for (size_t i = 0; i < count && !status; i++) {
		bool found = false;

		for (size_t j = 0; j < entry->profile_count; j++)
			found = found || !strcmp(known[j], items[i].text);
		if (found)
			expect->profiles[expect->profile_count++] = alloc_text(items[i].text);
		else
			status = conf_unknown("profile", items[i].text, known,
				entry->profile_count, reading->err);
		if (status)
			conf_place(&reading->doc, &items[i], reading->err);
	}
	free(known);
	return status;
}

static int
read_one(struct reading *reading, const struct entry *entry, const struct conf_node *node,
	struct expectation *expect)
{
	struct expect_keys keys = {0};

	if (conf_fill(&reading->doc, node, expect_table, &keys, reading->err) < 0)
		return -1;
	expect->metric = alloc_text(keys.metric->text);
	expect->line = node->line;
	expect->column = node->column;
	if (read_where(reading, entry, keys.where, expect) < 0)
		return -1;
	if (read_profile(reading, entry, keys.profile, expect) < 0)
		return -1;
	return read_kind(reading, entry, node, &keys, expect);
}

int
expect_read(struct reading *reading, struct entry *entry)
{
	struct matrix *matrix = reading->matrix;
	const struct conf_node *items;
	size_t count;

	entry->expect_first = matrix->expect_count;
	if (!entry->expect)
		return 0;
	items = conf_items(entry->expect, &count);
	matrix->expects = alloc_resize(
		matrix->expects, matrix->expect_count + count, sizeof(*matrix->expects));
	for (size_t i = 0; i < count; i++) {
		struct expectation *expect = &matrix->expects[matrix->expect_count++];

		*expect = (struct expectation){0};
		if (read_one(reading, entry, &items[i], expect) < 0)
			return -1;
	}
	entry->expect_count = count;
	return 0;
}
