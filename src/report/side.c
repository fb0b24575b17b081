/* The tables with the profiles side by side. */
#include "report/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/fold.h"
#include "report/judge.h"
#include "report/table.h"
#include "report/text.h"

#define PROFILES_MAX 32 /* columns; a table with more is not read by anybody */

struct side {
	const struct report_group *group;
	struct report_table table;
	size_t profiles; /* columns */
	size_t linked;   /* the last column with a link; `profiles` when there is none */
	struct buf text; /* of the cell being made */
};

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

/* A median with its interval; a count as it was, or its range over the repeats. */
static void
add_figure(struct buf *out, const struct report_metric *metric)
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

	report_table_column(table, "metric", false);
	report_table_column(table, "variant", false);
	for (size_t p = 0; p < side->profiles; p++)
		report_table_column(table, group->profiles[p]->name, true);
	if (side->profiles > 1) {
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

	if (side->profiles < 2)
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
	if (metric && metric->unit == RECORD_NS && metric->figures.p50.known &&
		cell->rtt_measured_ns.known && cell->rtt_measured_ns.value > 0)
		report_text_ratio(
			&side->text, metric->figures.p50.value, cell->rtt_measured_ns.value);
	flush(side);
}

/* One word for the expectations of a row: a broken one outweighs all. */
static void
add_verdict(struct side *side, size_t variant, const char *name)
{
	size_t seen[3] = {0};

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
			add_figure(&side->text, metric);
		if (cell && cell->status != STATUS_OK)
			buf_printf(&side->text, "%s%s", metric ? " " : "",
				metric ? "(!)" : status_name(cell->status));
		flush(side);
	}
	add_ratio(side, variant, name);
	add_rtts(side, variant, name);
	add_verdict(side, variant, name);
}

static bool
is_count(const struct report_group *group, const char *name)
{
	size_t cells = group->variant_count * group->profile_count;

	for (size_t i = 0; i < cells; i++) {
		const struct report_metric *metric = report_cell_metric(group->cells[i], name);

		if (metric)
			return metric->is_count;
	}
	return false;
}

static void
add_metric(struct side *side, const char *name)
{
	size_t first = side->table.count;

	for (size_t v = 0; v < side->group->variant_count; v++)
		add_row(side, v, name);
	if (is_count(side->group, name))
		report_fold(&side->table, first);
}

/* "localhost 2000, wan50 40 to 60": samples of the timed metrics. */
static void
add_sizes(const struct side *side, struct buf *out)
{
	const struct report_group *group = side->group;
	const char *join = "\nSamples of each timed metric: ";

	for (size_t p = 0; p < side->profiles; p++) {
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
		buf_printf(out, "%s%s %zu", join, group->profiles[p]->name, least);
		if (most > least)
			buf_printf(out, " to %zu", most);
		join = ", ";
	}
	if (*join == ',')
		buf_puts(out, ".\n");
}

void
report_side_by_side(const struct report_group *group, struct buf *out)
{
	struct side side = {.group = group};
	char *shared = report_group_shared(group);

	side.profiles = group->profile_count < PROFILES_MAX ? group->profile_count
							    : PROFILES_MAX;
	side.linked = side.profiles;
	for (size_t p = 0; p < side.profiles; p++)
		if (!group->profiles[p]->loopback)
			side.linked = p;
	buf_printf(out, "## %s%s\n\n", group->probe, group->family == 6 ? " over IPv6" : "");
	if (*shared)
		buf_printf(out, "All with `%s`.\n\n", shared);
	add_columns(&side);
	for (size_t m = 0; m < group->metric_count; m++)
		add_metric(&side, group->metrics[m]);
	if (side.table.count > side.table.columns)
		report_table_print(&side.table, out);
	else
		buf_puts(out, "No figures.\n");
	add_sizes(&side, out);
	buf_puts(out, "\n");
	report_table_free(&side.table);
	buf_free(&side.text);
	free(shared);
}
