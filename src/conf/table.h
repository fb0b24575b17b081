/* Schema tables: one row a key gives its reading, its range, its place in a struct. */
#ifndef CONF_TABLE_H
#define CONF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/doc.h"

/* What a key takes, and the member it fills. */
enum conf_type {
	CONF_COUNT,    /* conf_number; a whole number without a unit */
	CONF_DURATION, /* conf_number, nanoseconds */
	CONF_RATE,     /* conf_number, bits per second */
	CONF_PERCENT,  /* conf_number, parts per million */
	CONF_SIZE,     /* conf_number, bytes */
	CONF_FLAG,     /* conf_number, 0 or 1; true or false */
	CONF_WORD,     /* const conf_node *: text */
	CONF_WORDS,    /* const conf_node *: a list of texts, or one; see conf_items() */
	CONF_MAPS,     /* const conf_node *: a list of mappings, or one */
	CONF_MAPPING,  /* const conf_node *: a mapping */
	CONF_ANY,      /* const conf_node *: the caller looks at it */
};

/* A value and where it stands; `at` is NULL when the key was not given. */
struct conf_number {
	int64_t value;
	const struct conf_node *at;
};

/* A table ends with a row whose name is NULL. */
struct conf_key {
	const char *name;
	enum conf_type type;
	size_t offset; /* offsetof() in the struct that is filled */
	bool required;
	int64_t min, max; /* numbers; also the length of a list when max is not 0 */
};

/* Fill `dest`, which the caller zeroed or gave its defaults, from the mapping `map`. -1 with
 * "file:line:column: message" on an unknown key (with the nearest known one), a missing one, or
 * a value that does not read or is out of range. Nodes that are filled in belong to `doc`. */
int conf_fill(const struct conf_doc *doc, const struct conf_node *map,
	const struct conf_key *table, void *dest, struct err *err);

/* A key that people write where it does not belong, and where it does. */
struct conf_elsewhere {
	const char *name, *where;
};

/* -1 with "file:line:column: key 'NAME' WHERE" when `map` holds one of `keys`, which end with a
 * row whose name is NULL: to be asked before conf_fill(), which would name the nearest key. */
int conf_check_elsewhere(const struct conf_doc *doc, const struct conf_node *map,
	const struct conf_elsewhere *keys, struct err *err);

/* Read the text `node` as `type`, one of the numbers, and check its range. */
int conf_read_number(const struct conf_doc *doc, const struct conf_node *node,
	enum conf_type type, int64_t min, int64_t max, int64_t *value, struct err *err);

/* -1 with an error at `node` unless it is of this kind. */
int conf_expect(const struct conf_doc *doc, const struct conf_node *node, enum conf_kind kind,
	struct err *err);

#endif
