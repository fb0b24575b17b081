/* From top to bottom: what the marks mean, where the round trips are, the rows, the axis.
 *
 *                    o localhost  [] lan  <> wan50
 *            lan, round trips         1  2 3 4
 *          wan50, round trips         :  : : :       1  2 3 4
 *   request_new                       :  : : :       :  : : :
 *     cpu=same              o         :  [] ::       :  <>: :
 *                 |--------|--------|--------|--------|--------|
 *               1 us     10 us    100 us   1 ms     10 ms    100 ms
 */
#include "report/chart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "report/link.h"
#include "report/scale.h"
#include "report/sections.h"
#include "report/svg.h"
#include "report/text.h"

/* As svg.h has it: along the axis in tenths of a pixel, heights in pixels. */
#define AXIS 6400 /* from end to end */
#define ZERO 420  /* left of it, where there is no logarithm */
#define EDGE 300  /* at its ends: half a label */
#define INDENT 160
#define LETTER 74
#define LINE 16
#define MARKS_APART 4
#define ROUND_TRIPS 4
#define TICKS_FEW 6 /* on an axis this short every one has its label */

struct row {
	const char *metric;
	size_t variant;
	bool first; /* of its metric */
	char *label;
	int64_t middle;
};

struct chart {
	const struct report_group *group;
	enum record_unit unit;
	struct row *rows;
	size_t row_count, row_cap;
	int64_t *round_trips; /* by profile; 0 where there is none to compare with */
	int64_t least, most;  /* of all that is positive; 0 when nothing is */
	bool zero;            /* is a median 0? */
	bool linked;          /* is there a round trip? */
	struct report_scale scale;
	int64_t left, top, bottom, row_height;
	struct buf *out;
};

static const struct report_metric *
find(const struct chart *chart, const char *name, size_t variant, size_t profile)
{
	const struct report_metric *metric = report_cell_metric(
		report_group_cell(chart->group, variant, profile), name);

	if (!metric || metric->unit != chart->unit || metric->is_count ||
		!metric->figures.p50.known)
		return NULL;
	return metric;
}

static void
widen(struct chart *chart, int64_t value)
{
	if (value <= 0)
		return;
	if (!chart->most || value < chart->least)
		chart->least = value;
	if (value > chart->most)
		chart->most = value;
}

/* Take in what one row has to show; false when that is nothing. */
static bool
survey_row(struct chart *chart, const char *name, size_t variant)
{
	bool any = false;

	for (size_t p = 0; p < chart->group->profile_count; p++) {
		const struct report_metric *metric = find(chart, name, variant, p);

		if (!metric)
			continue;
		any = true;
		chart->zero |= metric->figures.p50.value <= 0;
		widen(chart, metric->figures.p50.value);
		widen(chart, metric->figures.p50_lo.value);
		widen(chart, metric->figures.p50_hi.value);
	}
	return any;
}

static void
survey_rows(struct chart *chart)
{
	const struct report_group *group = chart->group;

	for (size_t m = 0; m < group->metric_count; m++) {
		const char *name = group->metrics[m];
		bool first = true;

		for (size_t v = 0; v < group->variant_count; v++) {
			if (!survey_row(chart, name, v))
				continue;
			chart->rows = alloc_grow(chart->rows, chart->row_count, &chart->row_cap,
				sizeof(*chart->rows));
			chart->rows[chart->row_count++] = (struct row){.metric = name,
				.variant = v,
				.first = first,
				.label = group->variant_count > 1 ? report_group_short(group, v)
								  : alloc_text(name)};
			first = false;
		}
	}
}

static void
survey_links(struct chart *chart, const struct report *report)
{
	const struct report_group *group = chart->group;

	chart->round_trips = alloc_zero(group->profile_count, sizeof(*chart->round_trips));
	for (size_t p = 0; p < group->profile_count && chart->unit == RECORD_NS; p++) {
		struct report_link link;

		if (group->profiles[p]->loopback)
			continue;
		report_link_measure(report, group->profiles[p]->name, &link);
		if (!link.median_ns.known || link.median_ns.value <= 0)
			continue;
		chart->round_trips[p] = link.median_ns.value;
		chart->linked = true;
		widen(chart, link.median_ns.value);
	}
}

/* A metric of several variants has a line of its own above their rows. */
static bool
has_head(const struct chart *chart, const struct row *row)
{
	return row->first && chart->group->variant_count > 1;
}

static void
lay_out(struct chart *chart)
{
	const size_t profiles = chart->group->profile_count;
	size_t widest = 0;
	int64_t y = LINE + 6;

	chart->row_height = 6 + MARKS_APART * (int64_t)profiles;
	if (chart->row_height < LINE)
		chart->row_height = LINE;
	for (size_t p = 0; p < profiles; p++)
		y += chart->round_trips[p] ? LINE : 0;
	chart->top = y;
	for (size_t i = 0; i < chart->row_count; i++) {
		struct row *row = &chart->rows[i];
		size_t width = report_text_width(row->label);

		widest = width > widest ? width : widest;
		y += has_head(chart, row) ? LINE + 4 : 0;
		row->middle = y + chart->row_height / 2;
		y += chart->row_height;
	}
	chart->bottom = y + 4;
	chart->left = INDENT + (int64_t)widest * LETTER + EDGE / 2 + (chart->zero ? ZERO : 0);
	report_scale_fit(&chart->scale, chart->most ? chart->least : 1, chart->most, AXIS);
}

static int64_t
x_of(const struct chart *chart, int64_t value)
{
	if (value <= 0)
		return chart->left - ZERO + 80;
	return chart->left + report_scale_at(&chart->scale, value);
}

/* One median; who points at it is told which. */
static void
add_median(const struct chart *chart, const struct report_cell *cell,
	const struct report_metric *metric, size_t profile, int64_t y)
{
	const struct stat_summary *figures = &metric->figures;
	struct buf title = {0}, rtts = {0};

	buf_printf(&title, "%s, %s, %s: ", metric->name, cell->variant, cell->profile->name);
	report_figure(metric, &title);
	report_cell_rtts(cell, metric, &rtts);
	if (rtts.len)
		buf_printf(&title, ", %s RTT", buf_text(&rtts));
	if (figures->p50_lo.known)
		report_svg_span(chart->out, profile, x_of(chart, figures->p50_lo.value),
			x_of(chart, figures->p50_hi.value), y);
	report_svg_mark(
		chart->out, profile, x_of(chart, figures->p50.value), y, buf_text(&title));
	buf_free(&title);
	buf_free(&rtts);
}

/* The profiles' marks stand below each other, so that one does not hide another. */
static void
add_row(const struct chart *chart, const struct row *row)
{
	const struct report_group *group = chart->group;
	int64_t y = row->middle - MARKS_APART * ((int64_t)group->profile_count - 1) / 2;

	if (has_head(chart, row))
		report_svg_text(chart->out, SVG_HEAD, 0,
			row->middle - chart->row_height / 2 - 4, row->metric);
	if (row->variant % 2 == 0)
		report_svg_band(chart->out, chart->left + AXIS,
			row->middle - chart->row_height / 2, chart->row_height);
	report_svg_text(chart->out, SVG_ROW, group->variant_count > 1 ? INDENT : 0,
		row->middle + 4, row->label);
	for (size_t p = 0; p < group->profile_count; p++, y += MARKS_APART) {
		const struct report_metric *metric = find(chart, row->metric, row->variant, p);

		if (metric)
			add_median(
				chart, report_group_cell(group, row->variant, p), metric, p, y);
	}
}

static void
add_tick(const struct chart *chart, int64_t value)
{
	struct buf text = {0};

	if (value)
		report_text_round(&text, chart->unit, value);
	else
		buf_puts(&text, "0");
	report_svg_grid(chart->out, x_of(chart, value), chart->top, chart->bottom);
	report_svg_text(chart->out, SVG_TICK, x_of(chart, value), chart->bottom + LINE - 2,
		buf_text(&text));
	buf_free(&text);
}

/* Powers of ten; on a short axis the steps between them, too. */
static void
add_axis(const struct chart *chart)
{
	const struct report_scale *scale = &chart->scale;
	int64_t steps = 0, power = 1;

	for (int64_t at = scale->low; at < scale->high; at = report_scale_next(at))
		steps++;
	if (chart->zero)
		add_tick(chart, 0);
	for (int64_t at = scale->low; at <= scale->high && at < INT64_MAX;
		at = report_scale_next(at)) {
		while (power <= at / 10)
			power *= 10;
		if (at == power || steps <= TICKS_FEW)
			add_tick(chart, at);
	}
}

/* Of each link, in a line of its own above the rows. */
static void
add_round_trips(const struct chart *chart)
{
	int64_t y = LINE;

	for (size_t p = 0; p < chart->group->profile_count; p++) {
		int64_t rtt = chart->round_trips[p];
		char *words;

		if (!rtt)
			continue;
		y += LINE;
		words = alloc_printf("%s, round trips", chart->group->profiles[p]->name);
		report_svg_text(chart->out, SVG_BEFORE, x_of(chart, rtt) - 110, y, words);
		free(words);
		for (int64_t i = 1; i <= ROUND_TRIPS && rtt <= chart->scale.high / i; i++) {
			char number[24];

			snprintf(number, sizeof(number), "%" PRId64, i);
			report_svg_text(chart->out, SVG_TICK, x_of(chart, rtt * i), y, number);
			report_svg_guide(
				chart->out, p, x_of(chart, rtt * i), y + 3, chart->bottom);
		}
	}
}

static void
add_legend(const struct chart *chart)
{
	int64_t x = chart->left;

	for (size_t p = 0; p < chart->group->profile_count; p++) {
		const char *name = chart->group->profiles[p]->name;

		report_svg_mark(chart->out, p, x, LINE - 6, name);
		report_svg_text(chart->out, SVG_ROW, x + 80, LINE - 2, name);
		x += 280 + (int64_t)report_text_width(name) * LETTER;
	}
}

static void
draw(const struct chart *chart)
{
	char *title = report_group_title(chart->group);
	char *label = alloc_printf(
		"%s: median %s on a logarithmic axis, the figures of the table below", title,
		chart->unit == RECORD_NS ? "times" : "rates");

	buf_puts(chart->out, "<figure>\n<div class=\"scroll\" tabindex=\"0\">\n");
	report_svg_open(chart->out, label, chart->left + AXIS + EDGE, chart->bottom + LINE + 4);
	add_axis(chart);
	add_round_trips(chart);
	add_legend(chart);
	for (size_t i = 0; i < chart->row_count; i++)
		add_row(chart, &chart->rows[i]);
	report_svg_close(chart->out);
	buf_printf(chart->out,
		"</div>\n<figcaption>Medians with their 95%% intervals, on a logarithmic "
		"axis%s.</figcaption>\n</figure>\n",
		chart->linked ? "; dotted: one to four round trips of each link" : "");
	free(label);
	free(title);
}

void
report_chart(const struct report *report, const struct report_group *group,
	enum record_unit unit, struct buf *out)
{
	struct chart chart = {.group = group, .unit = unit, .out = out};

	survey_rows(&chart);
	if (chart.row_count) {
		survey_links(&chart, report);
		lay_out(&chart);
		draw(&chart);
	}
	for (size_t i = 0; i < chart.row_count; i++)
		free(chart.rows[i].label);
	free(chart.rows);
	free(chart.round_trips);
}
