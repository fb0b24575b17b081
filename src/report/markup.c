/* HTML that is well-formed XML, too. */
#include "report/markup.h"

#include <string.h>

#include "report/judge.h"
#include "report/text.h"
#include "stat/status.h"

void
report_markup_text(struct buf *out, const char *text)
{
	static const char *const entities[] = {
		['&'] = "&amp;",
		['<'] = "&lt;",
		['>'] = "&gt;",
		['"'] = "&quot;",
		['\''] = "&#39;",
	};
	struct buf clean = {0};

	report_text_clean(&clean, text);
	for (const char *at = buf_text(&clean); *at; at++) {
		size_t c = (unsigned char)*at;

		if (c < sizeof(entities) / sizeof(entities[0]) && entities[c])
			buf_puts(out, entities[c]);
		else
			buf_add(out, at, 1);
	}
	buf_free(&clean);
}

/* Is that something to be looked at? Then more than its colour says so. */
static bool
is_alarm(const char *text)
{
	static const enum cell_status bad[] = {
		STATUS_FAILED, STATUS_TIMEOUT, STATUS_INVALID_LINK};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!strncmp(text, status_name(bad[i]), strlen(status_name(bad[i]))))
			return true;
	return strstr(text, report_verdict_name(REPORT_BROKEN)) != NULL;
}

/* How sure a figure is stands back behind the figure. */
static void
add_value(struct buf *out, const char *text)
{
	const char *interval = strstr(text, "±");

	if (is_alarm(text)) {
		buf_puts(out, "<strong class=\"bad\">");
		report_markup_text(out, text);
		buf_puts(out, "</strong>");
	} else if (interval) {
		struct buf figure = {0};

		buf_add(&figure, text, (size_t)(interval - text));
		report_markup_text(out, buf_text(&figure));
		buf_puts(out, "<small>");
		report_markup_text(out, interval);
		buf_puts(out, "</small>");
		buf_free(&figure);
	} else {
		report_markup_text(out, text);
	}
}

static const char *
cell_at(const struct report_table *table, size_t row, size_t column)
{
	return table->cells[row * table->columns + column];
}

static size_t
rows_of(const struct report_table *table)
{
	return table->count / table->columns;
}

/* How many rows from `row` on belong together: those whose first column says the same, or all
 * when it is the only one that names them. */
static size_t
group_size(const struct report_table *table, size_t row)
{
	size_t size = 1;

	if (table->heads < 2)
		return rows_of(table) - row;
	while (row + size < rows_of(table) &&
		!strcmp(cell_at(table, row, 0), cell_at(table, row + size, 0)))
		size++;
	return size;
}

static void
add_titles(struct buf *out, const struct report_table *table)
{
	buf_puts(out, "<thead>\n<tr>");
	for (size_t c = 0; c < table->columns; c++) {
		buf_puts(out, table->right[c] ? "<th scope=\"col\" class=\"n\">"
					      : "<th scope=\"col\">");
		report_markup_text(out, cell_at(table, 0, c));
		buf_puts(out, "</th>");
	}
	buf_puts(out, "</tr>\n</thead>\n");
}

/* A row, less the first column when a row above has that for it, too. */
static void
add_row(struct buf *out, const struct report_table *table, size_t row, size_t group)
{
	buf_puts(out, "<tr>");
	if (table->heads > 1 && group) {
		buf_printf(out, "<th scope=\"rowgroup\" rowspan=\"%zu\">", group);
		report_markup_text(out, cell_at(table, row, 0));
		buf_puts(out, "</th>");
	}
	for (size_t c = table->heads > 1; c < table->columns; c++) {
		const char *text = cell_at(table, row, c);

		if (c < table->heads) {
			buf_puts(out, "<th scope=\"row\">");
			report_markup_text(out, text);
			buf_puts(out, "</th>");
		} else {
			buf_puts(out, table->right[c] ? "<td class=\"n\">" : "<td>");
			add_value(out, text);
			buf_puts(out, "</td>");
		}
	}
	buf_puts(out, "</tr>\n");
}

static void
add_table(struct buf *out, const char *title, const struct report_table *table)
{
	buf_puts(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"");
	report_markup_text(out, title);
	buf_puts(out, "\">\n<table>\n");
	add_titles(out, table);
	for (size_t row = 1, size; row < rows_of(table); row += size) {
		size = group_size(table, row);
		buf_puts(out, "<tbody>\n");
		for (size_t i = 0; i < size; i++)
			add_row(out, table, row + i, i ? 0 : size);
		buf_puts(out, "</tbody>\n");
	}
	buf_puts(out, "</table>\n</div>\n");
}

const struct report_format report_markup = {
	.marks =
		{
			[PAGE_TITLE] = {"<h1>", "</h1>\n"},
			[PAGE_HEADING] = {"<h2>", "</h2>\n"},
			[PAGE_PARAGRAPH] = {"<p>", "</p>\n"},
			[PAGE_LIST] = {"<ul>\n", "</ul>\n"},
			[PAGE_ITEM] = {"<li>", "</li>\n"},
			[PAGE_CODE] = {"<code>", "</code>"},
			[PAGE_STRONG] = {"<strong>", "</strong>"},
		},
	.text = report_markup_text,
	.table = add_table,
};
