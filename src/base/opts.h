/* Option tables: one row an option gives its parsing, its default, its range, its line in the
 * usage and its place in a struct. Used for `--name value` and for a probe's `name=value`. */
#ifndef BASE_OPTS_H
#define BASE_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"

enum opt_type {
	OPT_FLAG,     /* bool; takes no value on a command line */
	OPT_TEXT,     /* const char *, pointing into argv */
	OPT_COUNT,    /* int64_t */
	OPT_DURATION, /* int64_t, nanoseconds */
	OPT_SIZE,     /* int64_t, bytes */
	OPT_CHOICE,   /* int, the place of the word in `choices` ("a|b|c") */
	OPT_WORD,     /* const char *, pointing into argv; must be one of `choices` */
	OPT_LIST,     /* struct opt_list; may be given more than once */
};

struct opt_list {
	const char **values; /* point into argv; free the array with opts_free() */
	size_t count;
	size_t cap;
};

/* A table ends with a row whose name is NULL. */
struct opt {
	const char *name; /* without the dashes */
	enum opt_type type;
	size_t offset;            /* offsetof() in the struct that is filled */
	const char *default_text; /* as a user would write it; NULL: zero */
	const char *choices; /* OPT_CHOICE, OPT_WORD: "block|spin"; others: word shown for a
				value */
	int64_t min, max;    /* numbers only; max 0: no limit */
	const char *help;
};

/* Fill `dest` with the defaults of `table`. A default that does not parse is a bug: abort(). */
void opts_defaults(const struct opt *table, void *dest);

/* Set one option from text. -1 with an error naming the option, the text and what was expected.
 */
int opts_set(const struct opt *table, void *dest, const char *name, const char *value,
	struct err *err);

/* Set from "name=value". */
int opts_set_pair(const struct opt *table, void *dest, const char *pair, struct err *err);

/* Take `--name value`, `--name=value` and flags out of argv (from argv[1] on); what is left,
 * the operands, are moved to the front in order and counted in *operands. "--" ends the
 * options. */
int opts_parse(const struct opt *table, void *dest, int argc, char **argv, int *operands,
	struct err *err);

/* One line an option: name, value word, help, default. `dash`: "--" or "". */
void opts_usage(const struct opt *table, const char *dash, FILE *out);

/* The current value as text that opts_set() would take. */
void opts_value(const struct opt *option, const void *src, struct buf *out);

/* Release what opts_set() allocated (lists). */
void opts_free(const struct opt *table, void *dest);

#endif
