/* summary.md: the answer, what is unexpected, the tables, the verdicts, the run. */
#include "report/summary.h"

#include <stdlib.h>

#include "report/headline.h"
#include "report/report.h"
#include "report/text.h"

/* Call `visit` for every cell. */
static void
each_cell(const struct report *report, struct buf *out,
	void (*visit)(const struct report_cell *cell, struct buf *out))
{
	for (size_t r = 0; r < report->run_count; r++)
		for (size_t i = 0; i < report->runs[r].cell_count; i++)
			visit(&report->runs[r].cells[i], out);
}

static void
add_failure(const struct report_cell *cell, struct buf *out)
{
	if (cell->status == STATUS_OK || cell->done == 0)
		return;
	buf_printf(out, "- **%s** `%s`: ", status_name(cell->status), cell->id);
	report_text_clean(out, cell->reason);
	buf_puts(out, "\n");
}

static void
add_broken(const struct report_cell *cell, struct buf *out)
{
	for (size_t i = 0; i < cell->expect_count; i++) {
		const struct report_expect *expect = &cell->expects[i];

		if (expect->verdict == REPORT_BROKEN)
			buf_printf(out, "- **broken** `%s`: %s; found: %s\n", cell->id,
				expect->text, expect->found);
	}
}

static void
add_count(struct buf *out, size_t count, const char *words)
{
	if (count)
		buf_printf(out, "%s%zu %s", out->data[out->len - 1] == '\n' ? "" : ", ", count,
			words);
}

static void
add_totals(const struct report_totals *totals, struct buf *out)
{
	buf_printf(out, "%zu of %zu cells ok", totals->ok, totals->cells);
	add_count(out, totals->failed, "failed");
	add_count(out, totals->timeout, "timed out");
	add_count(out, totals->invalid_link, "with an invalid link");
	add_count(out, totals->unsupported, "unsupported here");
	add_count(out, totals->skipped, "skipped");
	if (totals->held + totals->broken + totals->unjudged)
		buf_printf(out, "; %zu of %zu expectations held", totals->held,
			totals->held + totals->broken + totals->unjudged);
	add_count(out, totals->broken, "broken");
	add_count(out, totals->unjudged, "not judged");
	buf_puts(out, ".\n");
	if (totals->repeats_discarded)
		buf_printf(out,
			"Run again because the link was out of tolerance: %zu of %zu "
			"repeats; what was put aside lies in cells/…/N.discarded-K.\n",
			totals->repeats_discarded, totals->repeats_planned);
	buf_puts(out, "\n");
}

static void
add_unexpected(const struct report *report, struct buf *out)
{
	const struct report_totals *totals = &report->totals;
	size_t missing = totals->repeats_planned - totals->repeats_done;

	if (totals->ok == totals->cells && !totals->broken && !missing)
		return;
	buf_puts(out, "## Unexpected\n\n");
	each_cell(report, out, add_failure);
	each_cell(report, out, add_broken);
	if (missing)
		buf_printf(out,
			"- **incomplete** %zu of %zu repeats were not run or did not end\n",
			missing, totals->repeats_planned);
	buf_puts(out, "\n");
}

void
report_summary(const struct report *report, struct buf *out)
{
	struct report_group *groups;
	size_t count, before;

	groups = report_groups(report, &count);
	buf_printf(out, "# %s\n\n", report->runs[0].matrix);
	add_totals(&report->totals, out);
	add_unexpected(report, out);
	before = out->len;
	report_headline(groups, count, out);
	buf_puts(out, out->len > before ? "\n" : "");
	for (size_t i = 0; i < count; i++) {
		report_side_by_side(&groups[i], out);
		report_group_free(&groups[i]);
	}
	free(groups);
	buf_puts(out, "Times are medians of the pooled samples of all repeats; ± is the "
		      "farther end of the "
		      "95% interval of the median,\nin percent (bootstrap over repeats, then "
		      "samples). "
		      "RTTs is the median divided by the round trip that was measured.\n"
		      "Counts are of one repeat. All figures are in matrix.csv; "
		      "results/README.md explains "
		      "its columns.\n\n");
	report_expected(report, out);
	report_about(report, out);
}
