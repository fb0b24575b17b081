/* The options of an entry: set:, vary: and the conditions that choose among them. */
#include "run/entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "run/awake.h"

const struct axis *
entry_axis(const struct entry *entry, const char *name)
{
	for (size_t i = 0; i < entry->axis_count; i++)
		if (!strcmp(entry->axes[i].at->key, name))
			return &entry->axes[i];
	return NULL;
}

/* The rules an option of a command's program must keep too, since both become folder names. */
static int
check_option_name(struct reading *reading, const struct conf_node *node)
{
	size_t len = strspn(node->key, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (node->key[len] || len >= RECORD_NAME_SIZE)
		return conf_key_error(&reading->doc, node, reading->err,
			"option '%s': expected letters a-z, digits and '_'", node->key);
	return 0;
}

static bool
is_ours(const char *name)
{
	return !strcmp(name, AWAKE_OPTION);
}

/* A cell that says it itself says which. */
static int
check_awake(struct reading *reading, const struct conf_node *value)
{
	static const char *const words[] = {"on", "off"};

	if (!strcmp(value->text, "on") || !strcmp(value->text, "off"))
		return 0;
	conf_unknown("value of '" AWAKE_OPTION "'", value->text, words, 2, reading->err);
	return conf_place(&reading->doc, value, reading->err);
}

static int
check_option_value(struct reading *reading, const struct entry *entry, const char *name,
	const struct conf_node *value)
{
	const char *text = value->text;

	if (conf_expect(&reading->doc, value, CONF_TEXT, reading->err) < 0)
		return -1;
	if (is_ours(name))
		return check_awake(reading, value);
	if (text[strcspn(text, "/; \t")] || strstr(text, ".."))
		return conf_error(&reading->doc, value, reading->err,
			"option '%s': '%s' has a '/', ';', '..' or space, which a cell's name "
			"cannot hold",
			name, text);
	if (entry->desc && probe_desc_check(entry->desc, name, text, reading->err) < 0)
		return conf_place(&reading->doc, value, reading->err);
	return 0;
}

static int
check_known_option(
	struct reading *reading, const struct entry *entry, const struct conf_node *node)
{
	const char *names[ENTRY_ITEMS_MAX];
	size_t count = 0;

	if (is_ours(node->key))
		return 0;
	for (const struct opt *option = entry->desc->options; option->name; option++) {
		if (!strcmp(option->name, node->key))
			return 0;
		if (count < ENTRY_ITEMS_MAX)
			names[count++] = option->name;
	}
	conf_unknown("option", node->key, names, count, reading->err);
	return err_prefix(
		reading->err, "%s:%d:%d", reading->doc.file, node->key_line, node->key_column);
}

/* One option with its values into an axis. */
static int
read_axis(struct reading *reading, struct entry *entry, const struct conf_node *node)
{
	const struct conf_doc *doc = &reading->doc;
	struct axis axis = {.at = node};

	if (check_option_name(reading, node) < 0)
		return -1;
	if (entry->desc && check_known_option(reading, entry, node) < 0)
		return -1;
	if (entry_axis(entry, node->key))
		return conf_key_error(doc, node, reading->err,
			"option '%s' stands under both 'set' and 'vary'", node->key);
	axis.values = conf_items(node, &axis.count);
	if (axis.count == 0 || axis.count > ENTRY_ITEMS_MAX)
		return conf_key_error(doc, node, reading->err,
			"option '%s': expected 1 to %d values", node->key, ENTRY_ITEMS_MAX);
	for (size_t i = 0; i < axis.count; i++) {
		if (check_option_value(reading, entry, node->key, &axis.values[i]) < 0)
			return -1;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(axis.values[i].text, axis.values[j].text))
				return conf_error(doc, &axis.values[i], reading->err,
					"option '%s': '%s' twice", node->key,
					axis.values[i].text);
	}
	entry->axes[entry->axis_count++] = axis;
	return 0;
}

int
entry_read_axes(struct reading *reading, const struct conf_node *set,
	const struct conf_node *vary, struct entry *entry)
{
	size_t set_count = set ? set->count : 0, vary_count = vary ? vary->count : 0;

	entry->axes = alloc_zero(set_count + vary_count, sizeof(*entry->axes));
	for (size_t i = 0; i < set_count; i++) {
		if (set->items[i].kind == CONF_LIST)
			return conf_key_error(&reading->doc, &set->items[i], reading->err,
				"option '%s': 'set' takes one value; several stand under "
				"'vary'",
				set->items[i].key);
		if (conf_expect(&reading->doc, &set->items[i], CONF_TEXT, reading->err) < 0)
			return -1;
		if (read_axis(reading, entry, &set->items[i]) < 0)
			return -1;
	}
	for (size_t i = 0; i < vary_count; i++)
		if (read_axis(reading, entry, &vary->items[i]) < 0)
			return -1;
	return 0;
}

static int
check_condition_value(
	struct reading *reading, const struct axis *axis, const struct conf_node *node)
{
	const char *values[ENTRY_ITEMS_MAX];

	if (node->kind == CONF_LIST)
		return conf_key_error(&reading->doc, node, reading->err,
			"option '%s': one value; write an entry for each", node->key);
	if (conf_expect(&reading->doc, node, CONF_TEXT, reading->err) < 0)
		return -1;
	for (size_t i = 0; i < axis->count; i++) {
		values[i] = axis->values[i].text;
		if (!strcmp(values[i], node->text))
			return 0;
	}
	conf_unknown("value", node->text, values, axis->count, reading->err);
	return conf_value_error(&reading->doc, node, reading->err);
}

int
entry_check_condition(
	struct reading *reading, const struct entry *entry, const struct conf_node *node)
{
	for (size_t i = 0; i < node->count; i++) {
		const struct conf_node *pair = &node->items[i];
		const struct axis *axis = entry_axis(entry, pair->key);

		if (!axis && entry->desc && check_known_option(reading, entry, pair) < 0)
			return -1;
		if (!axis)
			return conf_key_error(&reading->doc, pair, reading->err,
				"option '%s' is neither under 'set' nor under 'vary', so this "
				"never matches",
				pair->key);
		if (check_condition_value(reading, axis, pair) < 0)
			return -1;
	}
	return 0;
}

int
entry_check_exclude(struct reading *reading, const struct entry *entry)
{
	size_t count;
	const struct conf_node *items;

	if (!entry->exclude)
		return 0;
	items = conf_items(entry->exclude, &count);
	for (size_t i = 0; i < count; i++) {
		if (items[i].count == 0)
			return conf_error(
				&reading->doc, &items[i], reading->err, "empty mapping");
		if (entry_check_condition(reading, entry, &items[i]) < 0)
			return -1;
	}
	return 0;
}
