/* The table of cells. */
#include "report/judge.h"
#include "report/sections.h"
#include "report/text.h"

static void
add_cell(struct report_table *table, const struct report_cell *cell)
{
	size_t counts[REPORT_VERDICTS] = {0};
	struct buf text = {0};

	report_table_add(table, cell->id);
	buf_puts(&text, status_name(cell->status));
	if (cell->reason) {
		buf_puts(&text, ": ");
		report_text_clean(&text, cell->reason);
	}
	report_table_add(table, buf_text(&text));
	buf_clear(&text);
	buf_printf(&text, "%zu of %lld", cell->ok, (long long)cell->run->repeats);
	report_table_add(table, buf_text(&text));
	buf_clear(&text);
	for (size_t i = 0; i < cell->expect_count; i++)
		counts[cell->expects[i].verdict]++;
	report_verdicts_text(counts, &text);
	report_table_add(table, buf_text(&text));
	buf_free(&text);
}

void
report_cells(const struct report *report, const struct report_page *page)
{
	struct report_table table = {.heads = 1};

	report_table_column(&table, "cell", false);
	report_table_column(&table, "status", false);
	report_table_column(&table, "repeats ok", true);
	report_table_column(&table, "expectations", false);
	for (size_t r = 0; r < report->run_count; r++)
		for (size_t i = 0; i < report->runs[r].cell_count; i++)
			add_cell(&table, &report->runs[r].cells[i]);
	report_page_put(page, PAGE_HEADING, "Cells");
	report_page_table(page, "Cells", &table);
	report_table_free(&table);
}
