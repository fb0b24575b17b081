/* The tables with the profiles side by side. */
#include "report/sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/fold.h"
#include "report/judge.h"
#include "report/text.h"

#define PROFILES_MAX 32 /* columns; a table with more is not read by anybody */

struct side {
	const struct report_group *group;
	struct report_table table;
	size_t profiles; /* columns */
	bool ratio;      /* is the last one compared with the first? */
	size_t linked;   /* the column that is given in RTTs; `profiles` when none is */
	struct buf text; /* of the cell being made */
};

static size_t
columns(const struct report_group *group)
{
	return group->profile_count < PROFILES_MAX ? group->profile_count : PROFILES_MAX;
}

static void
flush(struct side *side)
{
	report_table_add(&side->table, buf_text(&side->text));
	buf_clear(&side->text);
}

/* The farther end of the interval, in percent of the median, rounded up. */
static void
add_interval(struct buf *out, const struct stat_summary *figures)
{
	int64_t p50 = figures->p50.value, below, above, tenths;

	if (!figures->p50_lo.known || p50 <= 0)
		return;
	below = p50 - figures->p50_lo.value;
	above = figures->p50_hi.value - p50;
	tenths = report_text_scaled(above > below ? above : below, p50, 6);
	if (tenths < 0)
		return;
	tenths = (tenths + 999) / 1000;
	buf_puts(out, " ±");
	if (tenths >= 100)
		buf_printf(out, "%" PRId64, (tenths + 9) / 10);
	else
		report_text_fixed(out, tenths, 1);
	buf_puts(out, "%");
}

void
report_figure(const struct report_metric *metric, struct buf *out)
{
	const struct stat_summary *figures = &metric->figures;

	if (metric->is_count || !figures->p50.known) {
		report_text_value(out, metric->unit, figures->min.value);
		if (figures->min.value == figures->max.value)
			return;
		buf_puts(out, "..");
		report_text_value(out, metric->unit, figures->max.value);
		return;
	}
	report_text_value(out, metric->unit, figures->p50.value);
	add_interval(out, figures);
}

static void
add_columns(struct side *side)
{
	const struct report_group *group = side->group;
	struct report_table *table = &side->table;

	table->heads = 2;
	report_table_column(table, "metric", false);
	report_table_column(table, "variant", false);
	for (size_t p = 0; p < side->profiles; p++)
		report_table_column(table, group->profiles[p]->name, true);
	if (side->ratio) {
		buf_printf(&side->text, "%s/%s", group->profiles[side->profiles - 1]->name,
			group->profiles[0]->name);
		report_table_column(table, buf_text(&side->text), true);
		buf_clear(&side->text);
	}
	if (side->linked < side->profiles) {
		buf_printf(&side->text, "RTTs at %s", group->profiles[side->linked]->name);
		report_table_column(table, buf_text(&side->text), true);
		buf_clear(&side->text);
	}
	report_table_column(table, "expected", false);
}

/* How many times the first profile's figure the last one's is. */
static void
add_ratio(struct side *side, size_t variant, const char *name)
{
	const struct report_metric *first, *last;

	if (!side->ratio)
		return;
	first = report_cell_metric(report_group_cell(side->group, variant, 0), name);
	last = report_cell_metric(
		report_group_cell(side->group, variant, side->profiles - 1), name);
	if (first && last && !first->is_count && first->figures.p50.known &&
		last->figures.p50.known && first->figures.p50.value > 0)
		report_text_times(
			&side->text, last->figures.p50.value, first->figures.p50.value);
	flush(side);
}

static void
add_rtts(struct side *side, size_t variant, const char *name)
{
	const struct report_cell *cell;
	const struct report_metric *metric;

	if (side->linked == side->profiles)
		return;
	cell = report_group_cell(side->group, variant, side->linked);
	metric = report_cell_metric(cell, name);
	if (metric)
		report_cell_rtts(cell, metric, &side->text);
	flush(side);
}

/* One word for the expectations of a row: a broken one outweighs all. */
static void
add_verdict(struct side *side, size_t variant, const char *name)
{
	size_t seen[REPORT_VERDICTS] = {0};

	for (size_t p = 0; p < side->profiles; p++) {
		const struct report_cell *cell = report_group_cell(side->group, variant, p);

		for (size_t i = 0; cell && i < cell->expect_count; i++) {
			const struct report_expect *expect = &cell->expects[i];

			if (strcmp(expect->metric, name))
				continue;
			seen[expect->verdict]++;
			if (expect->verdict != REPORT_BROKEN)
				continue;
			buf_printf(&side->text, "%s%s",
				seen[REPORT_BROKEN] > 1 ? ", " : "BROKEN at ",
				cell->profile->name);
		}
	}
	if (!seen[REPORT_BROKEN] && seen[REPORT_HELD])
		buf_puts(&side->text, report_verdict_name(REPORT_HELD));
	else if (!seen[REPORT_BROKEN] && seen[REPORT_UNJUDGED])
		buf_puts(&side->text, report_verdict_name(REPORT_UNJUDGED));
	flush(side);
}

/* The row of one metric and variant, unless no profile has anything to show. */
static void
add_row(struct side *side, size_t variant, const char *name)
{
	const struct report_group *group = side->group;
	char *words;
	bool any = false;

	for (size_t p = 0; p < side->profiles; p++)
		any |= report_cell_metric(report_group_cell(group, variant, p), name) != NULL;
	if (!any)
		return;
	words = report_group_short(group, variant);
	report_table_add(&side->table, name);
	report_table_add(&side->table, words);
	free(words);
	for (size_t p = 0; p < side->profiles; p++) {
		const struct report_cell *cell = report_group_cell(group, variant, p);
		const struct report_metric *metric = report_cell_metric(cell, name);

		if (metric)
			report_figure(metric, &side->text);
		if (cell && cell->status != STATUS_OK)
			buf_printf(&side->text, "%s%s", metric ? " " : "",
				metric ? "(!)" : status_name(cell->status));
		flush(side);
	}
	add_ratio(side, variant, name);
	add_rtts(side, variant, name);
	add_verdict(side, variant, name);
}

/* ROWS_SAMPLES or ROWS_COUNTS; 0 when no cell has a figure of that name. */
static unsigned
rows_of(const struct report_group *group, const char *name)
{
	size_t cells = group->variant_count * group->profile_count;

	for (size_t i = 0; i < cells; i++) {
		const struct report_metric *metric = report_cell_metric(group->cells[i], name);

		if (metric)
			return metric->is_count ? ROWS_COUNTS : ROWS_SAMPLES;
	}
	return 0;
}

bool
report_group_has(const struct report_group *group, enum report_rows rows)
{
	for (size_t m = 0; m < group->metric_count; m++)
		if (rows & rows_of(group, group->metrics[m]))
			return true;
	return false;
}

static void
add_metric(struct side *side, const char *name)
{
	size_t first = side->table.count;

	for (size_t v = 0; v < side->group->variant_count; v++)
		add_row(side, v, name);
	if (rows_of(side->group, name) == ROWS_COUNTS)
		report_fold(&side->table, first);
}

/* "localhost 2000, wan50 40 to 60". */
void
report_group_sizes(const struct report_group *group, const struct report_page *page)
{
	const char *join = "Samples of each timed metric: ";
	struct buf text = {0};

	for (size_t p = 0; p < columns(group); p++) {
		size_t least = SIZE_MAX, most = 0;

		for (size_t v = 0; v < group->variant_count; v++) {
			const struct report_cell *cell = report_group_cell(group, v, p);

			for (size_t i = 0; cell && i < cell->metrics.count; i++) {
				size_t n = cell->metrics.items[i].figures.n;

				if (n == 0 || cell->metrics.items[i].is_count)
					continue;
				least = n < least ? n : least;
				most = n > most ? n : most;
			}
		}
		if (most == 0)
			continue;
		buf_printf(&text, "%s%s %zu", join, group->profiles[p]->name, least);
		if (most > least)
			buf_printf(&text, " to %zu", most);
		join = ", ";
	}
	if (text.len)
		report_page_put(page, PAGE_PARAGRAPH, "%s.", buf_text(&text));
	buf_free(&text);
}

char *
report_group_title(const struct report_group *group)
{
	return alloc_printf("%s%s", group->probe, group->family == 6 ? " over IPv6" : "");
}

void
report_group_settings(const struct report_group *group, const struct report_page *page)
{
	char *shared = report_group_shared(group);

	if (*shared) {
		report_page_open(page, PAGE_PARAGRAPH);
		report_page_say(page, "All with ");
		report_page_put(page, PAGE_CODE, "%s", shared);
		report_page_say(page, ".");
		report_page_close(page, PAGE_PARAGRAPH);
	}
	free(shared);
}

void
report_side_by_side(
	const struct report_group *group, enum report_rows rows, const struct report_page *page)
{
	struct side side = {.group = group, .profiles = columns(group)};
	char *title = report_group_title(group);

	side.linked = side.profiles;
	if (rows != ROWS_COUNTS) {
		side.ratio = side.profiles > 1;
		for (size_t p = 0; p < side.profiles; p++)
			if (!group->profiles[p]->loopback)
				side.linked = p;
	}
	add_columns(&side);
	for (size_t m = 0; m < group->metric_count; m++)
		if (rows & rows_of(group, group->metrics[m]))
			add_metric(&side, group->metrics[m]);
	report_page_table(page, title, &side.table);
	report_table_free(&side.table);
	buf_free(&side.text);
	free(title);
}

void
report_notes(const struct report_page *page)
{
	report_page_put(page, PAGE_PARAGRAPH,
		"Times are medians of the pooled samples of all repeats; ± is the farther end of "
		"the 95%% interval of the median,\nin percent (bootstrap over repeats, then "
		"samples). RTTs is the median divided by the round trip that was measured.\n"
		"Counts are of one repeat. All figures are in matrix.csv; results/README.md "
		"explains its columns.");
}
