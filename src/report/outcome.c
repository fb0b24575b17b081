/* What came of a run in a sentence, and what in it is unexpected. */
#include "report/sections.h"
#include "report/text.h"

/* Call `visit` for every cell. */
static void
each_cell(const struct report *report, const struct report_page *page,
	void (*visit)(const struct report_cell *cell, const struct report_page *page))
{
	for (size_t r = 0; r < report->run_count; r++)
		for (size_t i = 0; i < report->runs[r].cell_count; i++)
			visit(&report->runs[r].cells[i], page);
}

static void
add_item(const struct report_page *page, const char *what, const char *id)
{
	report_page_open(page, PAGE_ITEM);
	report_page_put(page, PAGE_STRONG, "%s", what);
	report_page_say(page, " ");
	report_page_put(page, PAGE_CODE, "%s", id);
}

static void
add_failure(const struct report_cell *cell, const struct report_page *page)
{
	struct buf reason = {0};

	if (cell->status == STATUS_OK || cell->done == 0)
		return;
	report_text_clean(&reason, cell->reason);
	add_item(page, status_name(cell->status), cell->id);
	report_page_say(page, ": %s", buf_text(&reason));
	report_page_close(page, PAGE_ITEM);
	buf_free(&reason);
}

static void
add_broken(const struct report_cell *cell, const struct report_page *page)
{
	for (size_t i = 0; i < cell->expect_count; i++) {
		const struct report_expect *expect = &cell->expects[i];

		if (expect->verdict != REPORT_BROKEN)
			continue;
		add_item(page, "broken", cell->id);
		report_page_say(page, ": %s; found: %s", expect->text, expect->found);
		report_page_close(page, PAGE_ITEM);
	}
}

static void
add_count(const struct report_page *page, size_t count, const char *words)
{
	if (count)
		report_page_say(page, ", %zu %s", count, words);
}

void
report_outcome(const struct report *report, const struct report_page *page)
{
	const struct report_totals *totals = &report->totals;

	report_page_open(page, PAGE_PARAGRAPH);
	report_page_say(page, "%zu of %zu cells ok", totals->ok, totals->cells);
	add_count(page, totals->failed, "failed");
	add_count(page, totals->timeout, "timed out");
	add_count(page, totals->invalid_link, "with an invalid link");
	add_count(page, totals->unsupported, "unsupported here");
	add_count(page, totals->skipped, "skipped");
	if (totals->held + totals->broken + totals->unjudged)
		report_page_say(page, "; %zu of %zu expectations held", totals->held,
			totals->held + totals->broken + totals->unjudged);
	add_count(page, totals->broken, "broken");
	add_count(page, totals->unjudged, "not judged");
	report_page_say(page, ".");
	if (totals->repeats_discarded)
		report_page_say(page,
			"\nRun again because the link was out of tolerance: %zu of %zu "
			"repeats; what was put aside lies in cells/…/N.discarded-K.",
			totals->repeats_discarded, totals->repeats_planned);
	report_page_close(page, PAGE_PARAGRAPH);
}

void
report_unexpected(const struct report *report, const struct report_page *page)
{
	const struct report_totals *totals = &report->totals;
	size_t missing = totals->repeats_planned - totals->repeats_done;

	if (totals->ok == totals->cells && !totals->broken && !missing)
		return;
	report_page_put(page, PAGE_HEADING, "Unexpected");
	report_page_open(page, PAGE_LIST);
	each_cell(report, page, add_failure);
	each_cell(report, page, add_broken);
	if (missing) {
		report_page_open(page, PAGE_ITEM);
		report_page_put(page, PAGE_STRONG, "incomplete");
		report_page_say(page, " %zu of %zu repeats were not run or did not end",
			missing, totals->repeats_planned);
		report_page_close(page, PAGE_ITEM);
	}
	report_page_close(page, PAGE_LIST);
}
