/* Option tables: parse, default, print. */
#include "base/opts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "base/units.h"

static void *
member(const struct opt *option, void *dest)
{
	return (char *)dest + option->offset;
}

static const struct opt *
find(const struct opt *table, const char *name, size_t len)
{
	for (; table->name; table++)
		if (strlen(table->name) == len && !strncmp(table->name, name, len))
			return table;
	return NULL;
}

static int
unknown(const struct opt *table, const char *dash, const char *name, struct err *err)
{
	const char *names[64];
	const char *best;
	size_t count = 0;

	for (; table->name && count < 64; table++)
		names[count++] = table->name;
	best = nearest_name(name, names, count);
	if (best)
		return err_set(err, "unknown option '%s%s': did you mean '%s%s'?", dash, name,
			dash, best);
	return err_set(err, "unknown option '%s%s'", dash, name);
}

/* The place of `value` among the words of "a|b|c", or -1. */
static int
choice_index(const char *choices, const char *value)
{
	size_t len = strlen(value);

	for (int i = 0;; i++) {
		size_t word = strcspn(choices, "|");

		if (word == len && !strncmp(choices, value, len))
			return i;
		if (!choices[word])
			return -1;
		choices += word + 1;
	}
}

static int
parse_number(const struct opt *option, const char *value, int64_t *number, struct err *err)
{
	switch (option->type) {
	case OPT_DURATION:
		return units_parse(UNIT_DURATION, value, number, err);
	case OPT_SIZE:
		return units_parse(UNIT_SIZE, value, number, err);
	default:
		return units_parse_count(value, number, err);
	}
}

static void
format_number(enum opt_type type, int64_t number, char out[static UNITS_TEXT_SIZE])
{
	if (type == OPT_DURATION)
		units_format(UNIT_DURATION, number, out);
	else if (type == OPT_SIZE)
		units_format(UNIT_SIZE, number, out);
	else
		snprintf(out, UNITS_TEXT_SIZE, "%" PRId64, number);
}

static int
set_number(const struct opt *option, int64_t *dest, const char *value, struct err *err)
{
	char low[UNITS_TEXT_SIZE], high[UNITS_TEXT_SIZE];
	int64_t number;

	if (parse_number(option, value, &number, err) < 0)
		return err_prefix(err, "option '%s'", option->name);
	if (number >= option->min && (!option->max || number <= option->max)) {
		*dest = number;
		return 0;
	}
	format_number(option->type, option->min, low);
	format_number(option->type, option->max, high);
	if (!option->max)
		return err_set(err, "option '%s': %s is too small: expected at least %s",
			option->name, value, low);
	return err_set(err, "option '%s': %s is out of range: expected %s to %s", option->name,
		value, low, high);
}

static int
set_flag(const struct opt *option, bool *dest, const char *value, struct err *err)
{
	if (strcmp(value, "true") && strcmp(value, "false"))
		return err_set(err, "option '%s': '%s' is neither true nor false", option->name,
			value);
	*dest = *value == 't';
	return 0;
}

static int
set_choice(const struct opt *option, void *dest, const char *value, struct err *err)
{
	int index = choice_index(option->choices, value);

	if (index < 0)
		return err_set(err, "option '%s': '%s' is not one of %s", option->name, value,
			option->choices);
	if (option->type == OPT_WORD)
		*(const char **)dest = value;
	else
		*(int *)dest = index;
	return 0;
}

static int
set_value(const struct opt *option, void *dest, const char *value, struct err *err)
{
	struct opt_list *list;

	switch (option->type) {
	case OPT_FLAG:
		return set_flag(option, dest, value, err);
	case OPT_CHOICE:
	case OPT_WORD:
		return set_choice(option, dest, value, err);
	case OPT_TEXT:
		*(const char **)dest = value;
		return 0;
	case OPT_LIST:
		list = dest;
		list->values = alloc_grow(
			list->values, list->count, &list->cap, sizeof(*list->values));
		list->values[list->count++] = value;
		return 0;
	default:
		return set_number(option, dest, value, err);
	}
}

void
opts_defaults(const struct opt *table, void *dest)
{
	struct err err;

	for (; table->name; table++) {
		if (!table->default_text)
			continue;
		if (set_value(table, member(table, dest), table->default_text, &err) < 0) {
			fprintf(stderr, "bug: default of %s\n", err.text);
			abort();
		}
	}
}

int
opts_set(const struct opt *table, void *dest, const char *name, const char *value,
	struct err *err)
{
	const struct opt *option = find(table, name, strlen(name));

	if (!option)
		return unknown(table, "", name, err);
	return set_value(option, member(option, dest), value, err);
}

int
opts_set_pair(const struct opt *table, void *dest, const char *pair, struct err *err)
{
	const char *equals = strchr(pair, '=');
	char *name;
	int status;

	if (!equals || equals == pair)
		return err_set(err, "'%s' is not of the form name=value", pair);
	name = alloc_text_n(pair, (size_t)(equals - pair));
	status = opts_set(table, dest, name, equals + 1, err);
	free(name);
	return status;
}

/* Handle argv[*i], which starts with "--"; moves *i over a value it takes. */
static int
parse_long(const struct opt *table, void *dest, int argc, char **argv, int *i, struct err *err)
{
	const char *name = argv[*i] + 2;
	size_t len = strcspn(name, "=");
	const struct opt *option = find(table, name, len);
	const char *value = name[len] ? name + len + 1 : NULL;

	if (!option) {
		char *word = alloc_text_n(name, len);

		unknown(table, "--", word, err);
		free(word);
		return -1;
	}
	if (option->type == OPT_FLAG && !value)
		value = "true";
	if (!value && *i + 1 < argc)
		value = argv[++*i];
	if (!value)
		return err_set(err, "option '--%s' needs a value", option->name);
	return set_value(option, member(option, dest), value, err);
}

int
opts_parse(const struct opt *table, void *dest, int argc, char **argv, int *operands,
	struct err *err)
{
	bool ended = false;
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		if (!ended && !strcmp(argv[i], "--")) {
			ended = true;
		} else if (!ended && !strncmp(argv[i], "--", 2)) {
			if (parse_long(table, dest, argc, argv, &i, err) < 0)
				return -1;
		} else if (!ended && argv[i][0] == '-' && argv[i][1]) {
			return err_set(err,
				"unknown option '%s': options start with two dashes", argv[i]);
		} else {
			argv[kept++] = argv[i];
		}
	}
	*operands = kept - 1;
	return 0;
}

static const char *
value_word(const struct opt *option)
{
	static const char *const words[] = {
		[OPT_FLAG] = "",
		[OPT_TEXT] = "TEXT",
		[OPT_COUNT] = "N",
		[OPT_DURATION] = "DURATION",
		[OPT_SIZE] = "SIZE",
		[OPT_LIST] = "TEXT",
	};

	return option->choices ? option->choices : words[option->type];
}

void
opts_usage(const struct opt *table, const char *dash, FILE *out)
{
	const char *join = *dash ? " " : "=";

	for (; table->name; table++) {
		bool named = table->type == OPT_FLAG && !*dash; /* a flag there has a value */
		const char *word = named ? "true|false" : value_word(table);
		int width = fprintf(
			out, "  %s%s%s%s", dash, table->name, *word ? join : "", word);

		if (width > 33)
			fprintf(out, "\n%34s", "");
		else
			fprintf(out, "%*s", 34 - width, "");
		fprintf(out, "%s", table->help);
		if (named)
			fprintf(out, " (default %s)",
				table->default_text ? table->default_text : "false");
		else if (table->default_text && table->type != OPT_FLAG)
			fprintf(out, " (default %s)", table->default_text);
		fputc('\n', out);
	}
}

void
opts_value(const struct opt *option, const void *src, struct buf *out)
{
	const void *at = (const char *)src + option->offset;
	char text[UNITS_TEXT_SIZE];
	const char *choice = option->choices;

	switch (option->type) {
	case OPT_FLAG:
		buf_puts(out, *(const bool *)at ? "true" : "false");
		return;
	case OPT_TEXT:
	case OPT_WORD:
		buf_puts(out, *(const char *const *)at ? *(const char *const *)at : "");
		return;
	case OPT_CHOICE:
		for (int i = *(const int *)at; i > 0; i--)
			choice += strcspn(choice, "|") + 1;
		buf_add(out, choice, strcspn(choice, "|"));
		return;
	case OPT_LIST:
		for (size_t i = 0; i < ((const struct opt_list *)at)->count; i++)
			buf_printf(out, "%s%s", i ? "," : "",
				((const struct opt_list *)at)->values[i]);
		return;
	default:
		format_number(option->type, *(const int64_t *)at, text);
		buf_puts(out, text);
	}
}

void
opts_free(const struct opt *table, void *dest)
{
	for (; table->name; table++) {
		struct opt_list *list;

		if (table->type != OPT_LIST)
			continue;
		list = member(table, dest);
		free(list->values);
		*list = (struct opt_list){0};
	}
}
