/* Reads a mapping by its table. */
#include "conf/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define TABLE_KEYS_MAX 32

static int
unknown_key(const struct conf_doc *doc, const struct conf_node *at,
	const struct conf_key *table, struct err *err)
{
	const char *names[TABLE_KEYS_MAX];
	struct err what = {""};
	size_t count = 0;

	for (; table->name && count < TABLE_KEYS_MAX; table++)
		names[count++] = table->name;
	conf_unknown("key", at->key, names, count, &what);
	return conf_key_error(doc, at, err, "%s", what.text);
}

int
conf_check_elsewhere(const struct conf_doc *doc, const struct conf_node *map,
	const struct conf_elsewhere *keys, struct err *err)
{
	for (; keys->name; keys++) {
		const struct conf_node *node = conf_get(map, keys->name);

		if (node)
			return conf_key_error(
				doc, node, err, "key '%s' %s", keys->name, keys->where);
	}
	return 0;
}

static const struct conf_key *
find(const struct conf_key *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

static const char *
kind_name(enum conf_kind kind)
{
	static const char *const names[] = {
		[CONF_TEXT] = "text",
		[CONF_LIST] = "a list",
		[CONF_MAP] = "a mapping",
	};

	return names[kind];
}

int
conf_expect(const struct conf_doc *doc, const struct conf_node *node, enum conf_kind kind,
	struct err *err)
{
	if (node->kind == kind)
		return 0;
	err_set(err, "expected %s, not %s", kind_name(kind), kind_name(node->kind));
	return conf_value_error(doc, node, err);
}

static int
parse_flag(const char *text, int64_t *value, struct err *err)
{
	if (strcmp(text, "true") && strcmp(text, "false"))
		return err_set(err, "'%s' is neither true nor false", text);
	*value = *text == 't';
	return 0;
}

static int
parse_number(enum conf_type type, const char *text, int64_t *value, struct err *err)
{
	switch (type) {
	case CONF_DURATION:
		return units_parse(UNIT_DURATION, text, value, err);
	case CONF_RATE:
		return units_parse(UNIT_RATE, text, value, err);
	case CONF_PERCENT:
		return units_parse(UNIT_PERCENT, text, value, err);
	case CONF_SIZE:
		return units_parse(UNIT_SIZE, text, value, err);
	case CONF_FLAG:
		return parse_flag(text, value, err);
	default:
		return units_parse_count(text, value, err);
	}
}

static void
format_number(enum conf_type type, int64_t value, char out[static UNITS_TEXT_SIZE])
{
	switch (type) {
	case CONF_DURATION:
		units_format(UNIT_DURATION, value, out);
		break;
	case CONF_RATE:
		units_format(UNIT_RATE, value, out);
		break;
	case CONF_PERCENT:
		units_format(UNIT_PERCENT, value, out);
		break;
	case CONF_SIZE:
		units_format(UNIT_SIZE, value, out);
		break;
	default:
		snprintf(out, UNITS_TEXT_SIZE, "%" PRId64, value);
	}
}

int
conf_read_number(const struct conf_doc *doc, const struct conf_node *node, enum conf_type type,
	int64_t min, int64_t max, int64_t *value, struct err *err)
{
	char low[UNITS_TEXT_SIZE], high[UNITS_TEXT_SIZE];

	if (conf_expect(doc, node, CONF_TEXT, err) < 0)
		return -1;
	if (parse_number(type, node->text, value, err) < 0)
		return conf_value_error(doc, node, err);
	if (type == CONF_FLAG || (*value >= min && *value <= max))
		return 0;
	format_number(type, min, low);
	format_number(type, max, high);
	if (min == max)
		err_set(err, "'%s' is not supported: expected %s", node->text, low);
	else
		err_set(err, "'%s' is out of range: expected %s to %s", node->text, low, high);
	return conf_value_error(doc, node, err);
}

/* A list, or a single item, of things of one kind. */
static int
check_items(const struct conf_doc *doc, const struct conf_key *row,
	const struct conf_node *node, enum conf_kind kind, struct err *err)
{
	size_t count;
	const struct conf_node *items = conf_items(node, &count);

	if (count == 0)
		return conf_key_error(doc, node, err, "key '%s': empty list", node->key);
	if (row->max && count > (size_t)row->max && row->min != row->max) {
		err_set(err, "more than %" PRId64 " items", row->max);
		return conf_value_error(doc, node, err);
	}
	if (row->max && (count < (size_t)row->min || count > (size_t)row->max)) {
		err_set(err, "expected a list of %" PRId64, row->min);
		return conf_value_error(doc, node, err);
	}
	for (size_t i = 0; i < count; i++)
		if (conf_expect(doc, &items[i], kind, err) < 0)
			return -1;
	return 0;
}

static int
check_node(const struct conf_doc *doc, const struct conf_key *row, const struct conf_node *node,
	struct err *err)
{
	switch (row->type) {
	case CONF_WORD:
		return conf_expect(doc, node, CONF_TEXT, err);
	case CONF_WORDS:
		return check_items(doc, row, node, CONF_TEXT, err);
	case CONF_MAPS:
		return check_items(doc, row, node, CONF_MAP, err);
	case CONF_MAPPING:
		if (conf_expect(doc, node, CONF_MAP, err) < 0)
			return -1;
		if (node->count == 0)
			return conf_key_error(
				doc, node, err, "key '%s': empty mapping", node->key);
		return 0;
	default:
		return 0;
	}
}

static int
fill_key(const struct conf_doc *doc, const struct conf_key *row, const struct conf_node *node,
	void *dest, struct err *err)
{
	void *member = (char *)dest + row->offset;

	if (row->type < CONF_WORD) {
		struct conf_number *number = member;

		number->at = node;
		return conf_read_number(
			doc, node, row->type, row->min, row->max, &number->value, err);
	}
	if (check_node(doc, row, node, err) < 0)
		return -1;
	*(const struct conf_node **)member = node;
	return 0;
}

int
conf_fill(const struct conf_doc *doc, const struct conf_node *map, const struct conf_key *table,
	void *dest, struct err *err)
{
	if (conf_expect(doc, map, CONF_MAP, err) < 0)
		return -1;
	for (size_t i = 0; i < map->count; i++) {
		const struct conf_key *row = find(table, map->items[i].key);

		if (!row)
			return unknown_key(doc, &map->items[i], table, err);
		if (fill_key(doc, row, &map->items[i], dest, err) < 0)
			return -1;
	}
	for (; table->name; table++)
		if (table->required && !conf_get(map, table->name))
			return conf_error(doc, map, err, "key '%s' is missing", table->name);
	return 0;
}
