/* The table of expectations: cells of one probe and profile that expect the same share a row.
 */
#include "report/sections.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/judge.h"

struct row {
	const struct report_cell *cell;    /* the first */
	const struct report_expect *least; /* by figure, of those judged; else the first */
	const struct report_expect *most;
	size_t verdicts[REPORT_VERDICTS];
};

struct rows {
	struct row *items;
	size_t count, cap;
};

static struct row *
find_row(struct rows *rows, const struct report_cell *cell, const struct report_expect *expect)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct row *row = &rows->items[i];

		if (!strcmp(row->least->text, expect->text) &&
			!strcmp(row->cell->profile->name, cell->profile->name) &&
			!strcmp(row->cell->probe, cell->probe))
			return row;
	}
	rows->items = alloc_grow(rows->items, rows->count, &rows->cap, sizeof(*rows->items));
	rows->items[rows->count] = (struct row){cell, expect, expect, {0}};
	return &rows->items[rows->count++];
}

static void
add_expect(
	struct rows *rows, const struct report_cell *cell, const struct report_expect *expect)
{
	struct row *row = find_row(rows, cell, expect);

	row->verdicts[expect->verdict]++;
	if (expect->verdict == REPORT_UNJUDGED)
		return;
	if (row->least->verdict == REPORT_UNJUDGED || expect->figure < row->least->figure)
		row->least = expect;
	if (row->most->verdict == REPORT_UNJUDGED || expect->figure > row->most->figure)
		row->most = expect;
}

static void
add_row(struct report_table *table, const struct row *row)
{
	struct buf found = {0};

	report_table_add(table, row->cell->probe);
	report_table_add(table, row->cell->profile->name);
	report_table_add(table, row->least->text);
	buf_puts(&found, row->least->found);
	if (strcmp(row->least->found, row->most->found))
		buf_printf(&found, " to %s", row->most->found);
	report_table_add(table, buf_text(&found));
	buf_clear(&found);
	report_verdicts_text(row->verdicts, &found);
	report_table_add(table, buf_text(&found));
	buf_free(&found);
}

void
report_expected(const struct report *report, const struct report_page *page)
{
	static const char *const titles[] = {"probe", "profile", "expected", "found", "cells"};
	struct report_table table = {.heads = 3};
	struct rows rows = {0};

	for (size_t r = 0; r < report->run_count; r++)
		for (size_t c = 0; c < report->runs[r].cell_count; c++)
			for (size_t i = 0; i < report->runs[r].cells[c].expect_count; i++)
				add_expect(&rows, &report->runs[r].cells[c],
					&report->runs[r].cells[c].expects[i]);
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		report_table_column(&table, titles[i], false);
	for (size_t i = 0; i < rows.count; i++)
		add_row(&table, &rows.items[i]);
	if (rows.count) {
		report_page_put(page, PAGE_HEADING, "Expectations");
		report_page_table(page, "Expectations", &table);
	}
	report_table_free(&table);
	free(rows.items);
}
