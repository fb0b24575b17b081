/* From libyaml's events to the tree; refuses everything that doc.h lists. */
#include "conf/doc.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "conf/utf8.h"

struct reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one; freed when the next is taken */
	const char *file;
	int nodes;
	struct err *err;
};

static int
fail(struct reader *reader, const char *message)
{
	const yaml_mark_t *mark = &reader->event.start_mark;

	return err_set(reader->err, "%s:%zu:%zu: %s", reader->file, mark->line + 1,
		mark->column + 1, message);
}

/* libyaml's own error, at the place it names. */
static int
fail_syntax(struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	const char *problem = parser->problem ? parser->problem : "cannot be read";

	return err_set(reader->err, "%s:%zu:%zu: not valid YAML: %s%s%s", reader->file,
		parser->problem_mark.line + 1, parser->problem_mark.column + 1, problem,
		parser->context ? " " : "", parser->context ? parser->context : "");
}

static int
next(struct reader *reader)
{
	yaml_event_delete(&reader->event);
	if (!yaml_parser_parse(&reader->parser, &reader->event))
		return fail_syntax(reader);
	return 0;
}

/* What no node may have, whatever its kind. */
static int
check_properties(struct reader *reader)
{
	const yaml_event_t *event = &reader->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (event->type == YAML_ALIAS_EVENT) {
		anchor = event->data.alias.anchor;
	} else if (event->type == YAML_SCALAR_EVENT) {
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
	}
	if (anchor)
		return fail(reader, "anchors and aliases (& and *) are not allowed: write the "
				    "value out");
	if (tag)
		return fail(reader, "tags (!) are not allowed: every value is text");
	if (++reader->nodes > CONF_NODES_MAX)
		return fail(reader, "too many values for one file");
	return 0;
}

/* The scalar at hand as a string of its own; NULL, with the error set, unless it is one line of
 * text. `what` it is goes into the message. */
static char *
take_text(struct reader *reader, const char *what)
{
	const char *text = (const char *)reader->event.data.scalar.value;
	size_t len = reader->event.data.scalar.length;
	char message[80];

	if (len == 0 || len > CONF_TEXT_MAX) {
		snprintf(message, sizeof(message), len ? "%s longer than %d bytes" : "empty %s",
			what, CONF_TEXT_MAX);
		fail(reader, message);
		return NULL;
	}
	for (size_t i = 0, size; i < len; i += size) {
		uint32_t code;

		size = utf8_decode(text + i, len - i, &code);
		if (!size || utf8_is_control(code)) {
			snprintf(message, sizeof(message), "%s in a %s",
				size && code == '\n' ? "line break" : "control character",
				what);
			fail(reader, message);
			return NULL;
		}
	}
	return alloc_text_n(text, len);
}

static void
place(const struct reader *reader, int *line, int *column)
{
	/* Within int: the file's size is limited. */
	*line = (int)reader->event.start_mark.line + 1;
	*column = (int)reader->event.start_mark.column + 1;
}

static int read_node(struct reader *reader, int depth, struct conf_node *node);

static int
read_list(struct reader *reader, int depth, struct conf_node *list)
{
	size_t cap = 0;

	for (;;) {
		struct conf_node *item;

		if (next(reader) < 0)
			return -1;
		if (reader->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		list->items = alloc_grow(list->items, list->count, &cap, sizeof(*item));
		item = &list->items[list->count++];
		*item = (struct conf_node){0};
		if (read_node(reader, depth, item) < 0)
			return -1;
	}
}

/* The key at hand, checked, into `item`, which is not yet counted among the map's. */
static int
read_key(struct reader *reader, const struct conf_node *map, struct conf_node *item)
{
	const struct conf_node *before;

	if (check_properties(reader) < 0)
		return -1;
	if (reader->event.type != YAML_SCALAR_EVENT)
		return fail(reader, "a key must be text");
	item->key = take_text(reader, "key");
	if (!item->key)
		return -1;
	place(reader, &item->key_line, &item->key_column);
	if (!strcmp(item->key, "<<"))
		return fail(reader, "merge key '<<' is not allowed: write the keys out");
	before = conf_get(map, item->key);
	if (before)
		return err_set(reader->err, "%s:%d:%d: duplicate key '%s', first on line %d",
			reader->file, item->key_line, item->key_column, item->key,
			before->key_line);
	if (map->count >= CONF_KEYS_MAX)
		return fail(reader, "too many keys in one mapping");
	return 0;
}

static bool
is_empty(const yaml_event_t *event)
{
	return event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0;
}

static int
read_map(struct reader *reader, int depth, struct conf_node *map)
{
	size_t cap = 0;

	for (;;) {
		struct conf_node *item;

		if (next(reader) < 0)
			return -1;
		if (reader->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		map->items = alloc_grow(map->items, map->count, &cap, sizeof(*item));
		item = &map->items[map->count];
		*item = (struct conf_node){0};
		if (read_key(reader, map, item) < 0) {
			free(item->key);
			return -1;
		}
		map->count++;
		if (next(reader) < 0)
			return -1;
		if (is_empty(&reader->event) && !reader->event.data.scalar.tag &&
			!reader->event.data.scalar.anchor)
			return err_set(reader->err, "%s:%d:%d: key '%s' has no value",
				reader->file, item->key_line, item->key_column, item->key);
		if (read_node(reader, depth, item) < 0)
			return -1;
	}
}

/* The node whose first event is at hand; `depth` is that of what it stands in. */
static int
read_node(struct reader *reader, int depth, struct conf_node *node)
{
	if (check_properties(reader) < 0)
		return -1;
	place(reader, &node->line, &node->column);
	if (reader->event.type == YAML_SCALAR_EVENT) {
		node->kind = CONF_TEXT;
		node->text = take_text(reader, "value");
		return node->text ? 0 : -1;
	}
	if (depth >= CONF_DEPTH_MAX)
		return fail(reader, "nested too deeply");
	if (reader->event.type == YAML_SEQUENCE_START_EVENT) {
		node->kind = CONF_LIST;
		return read_list(reader, depth + 1, node);
	}
	node->kind = CONF_MAP;
	return read_map(reader, depth + 1, node);
}

static int
read_stream(struct reader *reader, struct conf_node *root)
{
	if (next(reader) < 0 || next(reader) < 0) /* stream start, document start */
		return -1;
	if (reader->event.type != YAML_DOCUMENT_START_EVENT)
		return err_set(reader->err, "%s:1:1: the file is empty", reader->file);
	if (reader->event.data.document_start.version_directive ||
		reader->event.data.document_start.tag_directives.start !=
			reader->event.data.document_start.tag_directives.end)
		return fail(reader, "directives (%) are not allowed");
	if (next(reader) < 0)
		return -1;
	if (is_empty(&reader->event))
		return fail(reader, "the file is empty");
	if (read_node(reader, 0, root) < 0)
		return -1;
	if (root->kind != CONF_MAP)
		return err_set(reader->err, "%s:%d:%d: expected 'key: value' lines",
			reader->file, root->line, root->column);
	if (next(reader) < 0 || next(reader) < 0) /* document end, stream end */
		return -1;
	if (reader->event.type != YAML_STREAM_END_EVENT)
		return fail(reader, "a second document starts here: one file holds one");
	return 0;
}

int
conf_parse(
	const char *file, const char *text, size_t len, struct conf_doc *doc, struct err *err)
{
	struct reader reader = {.file = file, .err = err};
	int status;

	*doc = (struct conf_doc){.file = alloc_text(file)};
	if (len > CONF_BYTES_MAX) {
		conf_free(doc);
		return err_set(err, "%s:1:1: larger than %zu bytes", file, CONF_BYTES_MAX);
	}
	if (utf8_check(file, text, len, err) < 0) {
		conf_free(doc);
		return -1;
	}
	if (!yaml_parser_initialize(&reader.parser)) {
		conf_free(doc);
		return err_set(err, "%s: out of memory", file);
	}
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, len);
	status = read_stream(&reader, &doc->root);
	yaml_event_delete(&reader.event);
	yaml_parser_delete(&reader.parser);
	if (status < 0)
		conf_free(doc);
	return status;
}
