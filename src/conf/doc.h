/* A strict reader for our small YAML files: mappings, lists and text, each with its line and
 * column, and nothing else of YAML.
 *
 * Why on libyaml and not on libcyaml, which also reads through schema tables. Tried with 1.3.1:
 * it refuses duplicate and unknown keys, and aliases when told to. But it takes an empty file
 * for success, ignores a second document and explicit tags, cuts a text at an escaped NUL,
 * reads "5x" as the number 5 and "0x10" as 16; its errors come as several lines through a log
 * callback, the position (of the key's parent, or of the event after it) on the last, none
 * naming the file or a near key; and it has no type for a value with a unit, so durations,
 * rates and ranges would be checked afterwards, when the positions are gone. What remains to be
 * saved is less than this.
 *
 * Refused, with "file:line:column: message": duplicate keys, the merge key <<, anchors and
 * aliases (so no cycles and no bombs), tags, directives, a second document, an empty file, tabs
 * in the indentation, keys without a value, control characters, what is not UTF-8, and more
 * than the limits below. Quoted and plain scalars are alike: all is text. */
#ifndef CONF_DOC_H
#define CONF_DOC_H

#include <stddef.h>

#include "base/err.h"

#define CONF_BYTES_MAX ((size_t)1 << 20)
#define CONF_NODES_MAX 100000 /* values of any kind in one file */
#define CONF_KEYS_MAX 256     /* in one mapping */
#define CONF_TEXT_MAX 255     /* bytes of one key or value */
#define CONF_DEPTH_MAX 10     /* mappings and lists within each other */

enum conf_kind { CONF_TEXT, CONF_LIST, CONF_MAP };

struct conf_node {
	enum conf_kind kind;
	int line, column; /* from 1 */
	char *text;       /* CONF_TEXT: never empty, one line of UTF-8 */
	char *key;        /* of a value in a mapping; else NULL */
	int key_line, key_column;
	struct conf_node *items; /* of a list or mapping, in the file's order */
	size_t count;
};

/* Owns everything below `root`, which is a mapping. */
struct conf_doc {
	char *file;
	struct conf_node root;
};

/* Read `len` bytes at `text`, which must be followed by a NUL; `file` is only a name for
 * errors. On failure nothing is left in `doc`. Free with conf_free(). */
int conf_parse(
	const char *file, const char *text, size_t len, struct conf_doc *doc, struct err *err);

void conf_free(struct conf_doc *doc);

/* The value of `key` in a mapping, or NULL. */
const struct conf_node *conf_get(const struct conf_node *map, const char *key);

/* The items of a list; of anything else, the thing itself: where a list is due, a single item
 * may stand without brackets. */
const struct conf_node *conf_items(const struct conf_node *node, size_t *count);

/* Set "file:line:column: message", at the value or at its key. Always returns -1. */
int conf_error(const struct conf_doc *doc, const struct conf_node *at, struct err *err,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int conf_key_error(const struct conf_doc *doc, const struct conf_node *at, struct err *err,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Put "file:line:column: " in front of the text already in `err`; the second also puts the key
 * of the value, if it has one. Always return -1. */
int conf_place(const struct conf_doc *doc, const struct conf_node *at, struct err *err);
int conf_value_error(const struct conf_doc *doc, const struct conf_node *at, struct err *err);

/* "unknown WHAT 'NAME': did you mean 'NEAREST'?", or the known ones where none is near; without
 * a position. Always returns -1. */
int conf_unknown(const char *what, const char *name, const char *const *known, size_t count,
	struct err *err);

#endif
