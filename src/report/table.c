/* Aligned pipe tables. */
#include "report/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/text.h"

void
report_table_take(struct report_table *table, char *text)
{
	table->cells = alloc_grow(
		table->cells, table->count, &table->cap, sizeof(*table->cells));
	table->cells[table->count++] = text;
}

void
report_table_add(struct report_table *table, const char *text)
{
	report_table_take(table, alloc_text(text));
}

void
report_table_remove(struct report_table *table, size_t index)
{
	size_t behind = index + table->columns;

	for (size_t i = index; i < behind; i++)
		free(table->cells[i]);
	memmove(table->cells + index, table->cells + behind,
		(table->count - behind) * sizeof(*table->cells));
	table->count -= table->columns;
}

void
report_table_column(struct report_table *table, const char *title, bool right)
{
	if (table->columns == REPORT_COLUMNS_MAX)
		return;
	table->right[table->columns++] = right;
	report_table_add(table, title);
}

static void
pad(struct buf *out, char with, size_t count)
{
	while (count--)
		buf_add(out, &with, 1);
}

/* A pipe would end the cell. */
static size_t
shown_width(const char *text)
{
	size_t width = report_text_width(text);

	for (; *text; text++)
		width += *text == '|';
	return width;
}

static void
print_text(const char *text, struct buf *out)
{
	for (; *text; text++) {
		if (*text == '|')
			buf_puts(out, "\\");
		buf_add(out, text, 1);
	}
}

static void
print_rule(const struct report_table *table, const size_t *widths, struct buf *out)
{
	for (size_t c = 0; c < table->columns; c++) {
		buf_puts(out, "|-");
		pad(out, '-', widths[c]);
		buf_puts(out, table->right[c] ? ":" : "-");
	}
	buf_puts(out, "|\n");
}

static void
print_row(const struct report_table *table, size_t row, const size_t *widths, struct buf *out)
{
	for (size_t c = 0; c < table->columns; c++) {
		const char *text = table->cells[row * table->columns + c];
		size_t room = widths[c] - shown_width(text);

		buf_puts(out, c ? " | " : "| ");
		pad(out, ' ', table->right[c] ? room : 0);
		print_text(text, out);
		pad(out, ' ', table->right[c] ? 0 : room);
	}
	buf_puts(out, " |\n");
}

void
report_table_print(const struct report_table *table, struct buf *out)
{
	size_t widths[REPORT_COLUMNS_MAX];

	for (size_t c = 0; c < table->columns; c++) {
		widths[c] = 3; /* what Markdown wants of a rule */
		for (size_t i = c; i < table->count; i += table->columns)
			if (shown_width(table->cells[i]) > widths[c])
				widths[c] = shown_width(table->cells[i]);
	}
	for (size_t row = 0; table->columns && row < table->count / table->columns; row++) {
		print_row(table, row, widths, out);
		if (row == 0)
			print_rule(table, widths, out);
	}
}

void
report_table_free(struct report_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct report_table){0};
}
