/* Two runs side by side. */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/csv.h"
#include "report/group.h"
#include "report/table.h"
#include "report/text.h"

enum overlap { OVERLAP_NO, OVERLAP_YES, OVERLAP_UNKNOWN, OVERLAPS };

static const char *const overlap_names[] = {
	[OVERLAP_NO] = "no", [OVERLAP_YES] = "yes", [OVERLAP_UNKNOWN] = ""};

/* One metric of a cell that both runs have; a side without the metric is NULL. */
struct line {
	const struct report_cell *cell[2];
	const struct report_metric *metric[2];
	enum overlap overlap;
};

struct comparison {
	const struct report_run *run[2];
	const struct report_cell **sorted[2]; /* their cells by id */
	struct line *lines;
	size_t count, cap;
	size_t seen[OVERLAPS];
};

static int
by_id(const void *left, const void *right)
{
	const struct report_cell *const *a = left, *const *b = right;

	return strcmp((*a)->id, (*b)->id);
}

static void
sort_cells(struct comparison *c, int side)
{
	size_t count = c->run[side]->cell_count;

	c->sorted[side] = alloc_zero(count, sizeof(*c->sorted[side]));
	for (size_t i = 0; i < count; i++)
		c->sorted[side][i] = &c->run[side]->cells[i];
	qsort(c->sorted[side], count, sizeof(*c->sorted[side]), by_id);
}

/* The cell of that id in the run of `side`, or NULL. */
static const struct report_cell *
find_cell(const struct comparison *c, int side, const struct report_cell *cell)
{
	const struct report_cell **found = bsearch(&cell, c->sorted[side],
		c->run[side]->cell_count, sizeof(*c->sorted[side]), by_id);

	return found ? *found : NULL;
}

static enum overlap
overlap(const struct report_metric *a, const struct report_metric *b)
{
	const struct stat_summary *x, *y;

	if (!a || !b || a->unit != b->unit || !a->figures.p50_lo.known ||
		!b->figures.p50_lo.known)
		return OVERLAP_UNKNOWN;
	x = &a->figures;
	y = &b->figures;
	return x->p50_lo.value <= y->p50_hi.value && y->p50_lo.value <= x->p50_hi.value
		       ? OVERLAP_YES
		       : OVERLAP_NO;
}

static void
add_line(struct comparison *c, const struct report_cell *a, const struct report_cell *b,
	const char *name)
{
	struct line line = {
		.cell = {a, b},
		.metric = {report_cell_metric(a, name), report_cell_metric(b, name)},
	};

	line.overlap = overlap(line.metric[0], line.metric[1]);
	c->seen[line.overlap]++;
	c->lines = alloc_grow(c->lines, c->count, &c->cap, sizeof(*c->lines));
	c->lines[c->count++] = line;
}

/* The metrics of both, those of the first in its order, then what only the second has; one line
 * without a metric when neither has any. */
static void
add_cell(struct comparison *c, const struct report_cell *a, const struct report_cell *b)
{
	for (size_t i = 0; i < a->metrics.count; i++)
		add_line(c, a, b, a->metrics.items[i].name);
	for (size_t i = 0; i < b->metrics.count; i++)
		if (!report_metrics_find(&a->metrics, b->metrics.items[i].name))
			add_line(c, a, b, b->metrics.items[i].name);
	if (a->metrics.count + b->metrics.count == 0)
		add_line(c, a, b, "");
}

static const char *
line_metric(const struct line *line)
{
	return line->metric[0]   ? line->metric[0]->name
	       : line->metric[1] ? line->metric[1]->name
				 : "";
}

/* B/A, when both have a median in the same unit. */
static void
add_ratio(struct buf *out, const struct line *line)
{
	const struct report_metric *a = line->metric[0], *b = line->metric[1];
	int64_t scaled;

	if (!a || !b || a->unit != b->unit || !a->figures.p50.known || !b->figures.p50.known ||
		a->figures.p50.value <= 0)
		return;
	scaled = report_text_scaled(b->figures.p50.value, a->figures.p50.value, 3);
	if (scaled >= 0)
		report_text_fixed(out, scaled, 3);
}

/* The median or, without one, why: the cell's status, or that there is none. */
static void
add_median(struct report_table *table, const struct line *line, int side)
{
	const struct report_metric *metric = line->metric[side];
	struct buf text = {0};

	if (metric && metric->figures.p50.known)
		report_text_value(&text, metric->unit, metric->figures.p50.value);
	else if (metric)
		report_text_value(&text, metric->unit, metric->figures.min.value);
	else if (line->cell[side]->status != STATUS_OK)
		buf_puts(&text, status_name(line->cell[side]->status));
	report_table_add(table, buf_text(&text));
	buf_free(&text);
}

static void
add_table(const struct comparison *c, struct buf *out)
{
	static const char *const titles[] = {
		"cell", "metric", "A p50", "B p50", "B/A", "intervals overlap"};
	static const enum overlap order[] = {OVERLAP_NO, OVERLAP_UNKNOWN, OVERLAP_YES};
	struct report_table table = {0};

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		report_table_column(&table, titles[i], i >= 2 && i <= 4);
	for (size_t pass = 0; pass < OVERLAPS; pass++) {
		for (size_t i = 0; i < c->count; i++) {
			const struct line *line = &c->lines[i];
			struct buf ratio = {0};

			if (line->overlap != order[pass])
				continue;
			add_ratio(&ratio, line);
			report_table_add(&table, line->cell[0]->id);
			report_table_add(&table, line_metric(line));
			add_median(&table, line, 0);
			add_median(&table, line, 1);
			report_table_add(&table, buf_text(&ratio));
			report_table_add(&table, overlap_names[line->overlap]);
			buf_free(&ratio);
		}
	}
	if (c->count)
		report_table_print(&table, out);
	report_table_free(&table);
}

static void
add_only(const struct comparison *c, int side, struct buf *out)
{
	for (size_t i = 0; i < c->run[side]->cell_count; i++) {
		const struct report_cell *cell = &c->run[side]->cells[i];

		if (!find_cell(c, !side, cell))
			buf_printf(out, "Only in %c: `%s`\n", side ? 'B' : 'A', cell->id);
	}
}

/* Cells that are in both but were not asked for the same number of samples. */
static size_t
count_replanned(const struct comparison *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->run[0]->cell_count; i++) {
		const struct report_cell *a = &c->run[0]->cells[i], *b = find_cell(c, 1, a);

		count += b && b->samples != a->samples;
	}
	return count;
}

/* B/A of the times of one profile, and how many of its counts are equal. */
struct at_profile {
	const char *name;
	int64_t *ratios; /* in thousandths, room for all lines */
	size_t times, counts, equal;
};

static int
by_size(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static void
take_line(struct at_profile *at, const struct line *line)
{
	const struct report_metric *a = line->metric[0], *b = line->metric[1];
	int64_t x, y, ratio;

	if (strcmp(line->cell[0]->profile->name, at->name) || !a || !b || a->unit != b->unit ||
		!a->figures.p50.known || !b->figures.p50.known)
		return;
	x = a->figures.p50.value;
	y = b->figures.p50.value;
	if (a->unit == RECORD_COUNT_UNIT) {
		at->counts++;
		at->equal += x == y;
		return;
	}
	ratio = x > 0 ? report_text_scaled(y, x, 3) : -1;
	if (a->unit == RECORD_NS && ratio >= 0)
		at->ratios[at->times++] = ratio;
}

static void
add_profile(struct report_table *table, struct at_profile *at)
{
	const size_t places[] = {(at->times + 1) / 2 - 1, 0, at->times - 1};
	char text[64];

	qsort(at->ratios, at->times, sizeof(*at->ratios), by_size);
	report_table_add(table, at->name);
	snprintf(text, sizeof(text), "%zu", at->times);
	report_table_add(table, text);
	for (size_t i = 0; i < 3; i++) {
		struct buf ratio = {0};

		if (at->times)
			report_text_fixed(&ratio, at->ratios[places[i]], 3);
		report_table_add(table, buf_text(&ratio));
		buf_free(&ratio);
	}
	snprintf(text, sizeof(text), "%zu of %zu", at->equal, at->counts);
	report_table_add(table, text);
}

/* What moves all times of a profile alike, as another runtime does, shows here. */
static void
add_profiles(const struct comparison *c, struct buf *out)
{
	static const char *const titles[] = {
		"profile", "times", "B/A, median", "least", "most", "equal counts"};
	struct report_table table = {0};

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		report_table_column(&table, titles[i], i > 0);
	for (size_t p = 0; p < c->run[0]->profile_count; p++) {
		struct at_profile at = {
			.name = c->run[0]->profiles[p].name,
			.ratios = alloc_zero(c->count, sizeof(*at.ratios)),
		};

		for (size_t i = 0; i < c->count; i++)
			take_line(&at, &c->lines[i]);
		if (at.times || at.counts)
			add_profile(&table, &at);
		free(at.ratios);
	}
	if (c->count)
		report_table_print(&table, out);
	report_table_free(&table);
}

/* It moves every figure that waits for a core. */
static void
add_awake(const struct comparison *c, struct buf *out)
{
	const char *a = c->run[0]->awake ? c->run[0]->awake : "not said";
	const char *b = c->run[1]->awake ? c->run[1]->awake : "not said";

	if (strcmp(a, b))
		buf_printf(out, "Cores kept awake: in A %s, in B %s.\n", a, b);
}

static void
print_text(const struct comparison *c, struct buf *out)
{
	size_t replanned = count_replanned(c);

	buf_printf(out, "A is %s (%s, %s), B is %s (%s, %s).\n", c->run[0]->name,
		c->run[0]->runtime, c->run[0]->link, c->run[1]->name, c->run[1]->runtime,
		c->run[1]->link);
	add_awake(c, out);
	buf_printf(out,
		"Of %zu metrics %zu differ (the 95%% intervals of their medians do not "
		"overlap), %zu "
		"do not,\nand %zu cannot be said (no interval in one of the runs).\n",
		c->count, c->seen[OVERLAP_NO], c->seen[OVERLAP_YES], c->seen[OVERLAP_UNKNOWN]);
	if (replanned)
		buf_printf(out,
			"Of %zu cells A and B did not take the same number of samples.\n",
			replanned);
	buf_puts(out, "\n");
	add_profiles(c, out);
	buf_puts(out, "\n");
	add_table(c, out);
	buf_puts(out, "\n");
	add_only(c, 0, out);
	add_only(c, 1, out);
}

/* The six columns of one side; empty when it has no such metric. */
static void
add_csv_side(
	struct buf *out, const struct report_cell *cell, const struct report_metric *metric)
{
	static const struct report_metric none;
	const struct stat_summary *figures = metric ? &metric->figures : &none.figures;
	const struct stat_optional values[] = {figures->p50, figures->p50_lo, figures->p50_hi};

	report_csv_field(out, cell ? status_name(cell->status) : "");
	buf_puts(out, ",");
	if (metric)
		buf_printf(out, "%zu", figures->n);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		buf_puts(out, ",");
		if (values[i].known)
			buf_printf(out, "%" PRId64, values[i].value);
	}
}

static void
add_csv_line(struct buf *out, const struct line *line)
{
	const struct report_metric *any = line->metric[0] ? line->metric[0] : line->metric[1];

	report_csv_field(out, line->cell[0] ? line->cell[0]->id : line->cell[1]->id);
	report_csv_field(out, line_metric(line));
	report_csv_field(out, any && any->has_unit ? record_unit_name(any->unit) : "");
	add_csv_side(out, line->cell[0], line->metric[0]);
	add_csv_side(out, line->cell[1], line->metric[1]);
	buf_puts(out, ",");
	add_ratio(out, line);
	report_csv_field(out, overlap_names[line->overlap]);
	buf_puts(out, "\n");
}

static void
print_csv(const struct comparison *c, struct buf *out)
{
	buf_puts(out,
		"cell,metric,unit,status_a,n_a,p50_a,p50_lo_a,p50_hi_a,status_b,n_b,p50_b,"
		"p50_lo_b,p50_hi_b,ratio,intervals_overlap\n");
	for (size_t i = 0; i < c->count; i++)
		add_csv_line(out, &c->lines[i]);
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < c->run[side]->cell_count; i++) {
			struct line line = {.overlap = OVERLAP_UNKNOWN};

			line.cell[side] = &c->run[side]->cells[i];
			if (!find_cell(c, !side, line.cell[side]))
				add_csv_line(out, &line);
		}
	}
}

static void
compare(const struct report *a, const struct report *b, bool csv, struct buf *out)
{
	struct comparison c = {.run = {&a->runs[0], &b->runs[0]}};

	sort_cells(&c, 0);
	sort_cells(&c, 1);
	for (size_t i = 0; i < c.run[0]->cell_count; i++) {
		const struct report_cell *cell = &c.run[0]->cells[i];
		const struct report_cell *other = find_cell(&c, 1, cell);

		if (other)
			add_cell(&c, cell, other);
	}
	if (csv)
		print_csv(&c, out);
	else
		print_text(&c, out);
	free(c.sorted[0]);
	free(c.sorted[1]);
	free(c.lines);
}

int
report_compare(const char *dir_a, const char *dir_b, bool csv, FILE *out, struct err *err)
{
	struct report *a = report_load(&dir_a, 1, err);
	struct report *b = a ? report_load(&dir_b, 1, err) : NULL;
	struct buf text = {0};
	int status = -1;

	if (!a || !b)
		goto out;
	compare(a, b, csv, &text);
	if (fwrite(text.data, 1, text.len, out) == text.len && fflush(out) == 0)
		status = 0;
	else
		err_sys(err, "write the comparison");
out:
	buf_free(&text);
	report_free(a);
	report_free(b);
	return status;
}
