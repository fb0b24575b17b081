/* Looking around in a document that was read, and complaining about it. */
#include "conf/doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/nearest.h"

#define LIST_MAX 160 /* characters of known names in a message */

/* Recursion no deeper than CONF_DEPTH_MAX: nothing deeper was built. */
static void
free_node(struct conf_node *node)
{
	for (size_t i = 0; i < node->count; i++)
		free_node(&node->items[i]);
	free(node->items);
	free(node->text);
	free(node->key);
}

void
conf_free(struct conf_doc *doc)
{
	free_node(&doc->root);
	free(doc->file);
	*doc = (struct conf_doc){0};
}

const struct conf_node *
conf_get(const struct conf_node *map, const char *key)
{
	for (size_t i = 0; i < map->count; i++)
		if (!strcmp(map->items[i].key, key))
			return &map->items[i];
	return NULL;
}

const struct conf_node *
conf_items(const struct conf_node *node, size_t *count)
{
	*count = node->kind == CONF_LIST ? node->count : 1;
	return node->kind == CONF_LIST ? node->items : node;
}

static int
error_at(const char *file, int line, int column, struct err *err, const char *fmt, va_list args)
{
	char message[ERR_TEXT_SIZE];

	vsnprintf(message, sizeof(message), fmt, args);
	return err_set(err, "%s:%d:%d: %s", file, line, column, message);
}

int
conf_error(const struct conf_doc *doc, const struct conf_node *at, struct err *err,
	const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	error_at(doc->file, at->line, at->column, err, fmt, args);
	va_end(args);
	return -1;
}

int
conf_key_error(const struct conf_doc *doc, const struct conf_node *at, struct err *err,
	const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	error_at(doc->file, at->key ? at->key_line : at->line,
		at->key ? at->key_column : at->column, err, fmt, args);
	va_end(args);
	return -1;
}

int
conf_place(const struct conf_doc *doc, const struct conf_node *at, struct err *err)
{
	return err_prefix(err, "%s:%d:%d", doc->file, at->line, at->column);
}

int
conf_value_error(const struct conf_doc *doc, const struct conf_node *at, struct err *err)
{
	if (at->key)
		err_prefix(err, "key '%s'", at->key);
	return conf_place(doc, at, err);
}

int
conf_unknown(const char *what, const char *name, const char *const *known, size_t count,
	struct err *err)
{
	const char *best = nearest_name(name, known, count);
	struct buf list = {0};

	for (size_t i = 0; i < count && list.len < LIST_MAX; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", known[i]);
	if (list.len >= LIST_MAX)
		buf_puts(&list, ", ...");
	if (best)
		err_set(err, "unknown %s '%s': did you mean '%s'?", what, name, best);
	else if (count)
		err_set(err, "unknown %s '%s': known are %s", what, name, buf_text(&list));
	else
		err_set(err, "unknown %s '%s': none is known", what, name);
	buf_free(&list);
	return -1;
}
