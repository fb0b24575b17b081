/* One record a line: strict on reading, locale-free on writing. */
#include "stat/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

static const char *const unit_names[] = {
	[RECORD_NS] = "ns",
	[RECORD_BYTES] = "bytes",
	[RECORD_BYTES_PER_S] = "bytes_per_s",
	[RECORD_COUNT_UNIT] = "count",
};

static const char *const kind_names[] = {
	[RECORD_SAMPLE] = "sample",
	[RECORD_COUNT] = "count",
	[RECORD_INFO] = "info",
	[RECORD_READY] = "ready",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORD_SIZE 64

const char *
record_unit_name(enum record_unit unit)
{
	return unit_names[unit];
}

int
record_unit_find(const char *name, enum record_unit *unit)
{
	for (size_t i = 0; i < COUNT(unit_names); i++) {
		if (!strcmp(unit_names[i], name)) {
			*unit = (enum record_unit)i;
			return 0;
		}
	}
	return -1;
}

/* Move one space-separated word of `*line` to `word`; false if there is none or it is long. */
static int
take_word(const char **line, char word[static WORD_SIZE])
{
	size_t len = strcspn(*line, " ");

	if (len == 0 || len >= WORD_SIZE)
		return 0;
	memcpy(word, *line, len);
	word[len] = '\0';
	*line += len;
	if (**line == ' ')
		(*line)++;
	return 1;
}

static int
take_name(const char **line, char name[static RECORD_NAME_SIZE])
{
	char word[WORD_SIZE];
	size_t len;

	if (!take_word(line, word))
		return 0;
	len = strlen(word);
	if (len >= RECORD_NAME_SIZE || word[0] < 'a' || word[0] > 'z' ||
		strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_") != len)
		return 0;
	memcpy(name, word, len + 1);
	return 1;
}

static int
take_value(const char **line, int64_t *value)
{
	return units_parse_count(*line, value, NULL) == 0; /* and nothing behind it */
}

static int
take_unit(const char **line, enum record_unit *unit)
{
	char word[WORD_SIZE];

	return take_word(line, word) && record_unit_find(word, unit) == 0;
}

/* The part of a line behind its first word. */
static int
parse_rest(const char *rest, struct record *record)
{
	switch (record->kind) {
	case RECORD_SAMPLE:
		return take_name(&rest, record->name) && take_unit(&rest, &record->unit) &&
		       take_value(&rest, &record->value);
	case RECORD_COUNT:
		record->unit = RECORD_COUNT_UNIT;
		return take_name(&rest, record->name) && take_value(&rest, &record->value);
	case RECORD_INFO:
		record->text = rest;
		return take_name(&record->text, record->name);
	case RECORD_READY:
		record->text = rest;
		return *rest != '\0';
	}
	return 0;
}

int
record_parse(const char *line, struct record *record, struct err *err)
{
	const char *rest = line;
	char word[WORD_SIZE];

	*record = (struct record){0};
	if (take_word(&rest, word)) {
		for (size_t i = 0; i < COUNT(kind_names); i++) {
			record->kind = (enum record_kind)i;
			if (!strcmp(kind_names[i], word) && parse_rest(rest, record))
				return 0;
		}
	}
	return err_set(err, "not a record: '%.60s'", line);
}

/* The line at `text`, of `len` bytes without its newline. */
static int
parse_line(const char *text, size_t len,
	int (*take)(const struct record *record, void *context, struct err *err), void *context,
	struct err *err)
{
	char *line = alloc_text_n(text, len);
	struct record record;
	int status;

	if (strlen(line) != len)
		status = err_set(err, "not a record: it holds a NUL byte");
	else if (record_parse(line, &record, err) < 0)
		status = -1;
	else
		status = take(&record, context, err);
	free(line);
	return status;
}

int
record_each(const char *text, size_t len,
	int (*take)(const struct record *record, void *context, struct err *err), void *context,
	struct err *err)
{
	const char *end = text + len, *newline;

	for (int number = 1; text < end; number++, text = newline + 1) {
		newline = memchr(text, '\n', (size_t)(end - text));
		/* A value that lost its last digits still looks like one. */
		if (!newline)
			return err_set(err, "line %d: cut short: '%.*s'", number,
				(int)(end - text > 60 ? 60 : end - text), text);
		if (parse_line(text, (size_t)(newline - text), take, context, err) < 0)
			return err_prefix(err, "line %d", number);
	}
	return 0;
}

void
record_sample(FILE *out, const char *name, enum record_unit unit, int64_t value)
{
	fprintf(out, "sample %s %s %" PRId64 "\n", name, unit_names[unit], value);
}

void
record_count(FILE *out, const char *name, int64_t value)
{
	fprintf(out, "count %s %" PRId64 "\n", name, value);
}

void
record_info(FILE *out, const char *name, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	for (char *at = text; *at; at++)
		if (*at == '\n' || *at == '\r')
			*at = ' ';
	fprintf(out, "info %s %s\n", name, text);
}
