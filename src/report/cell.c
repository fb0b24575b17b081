/* Pools the repeats of a cell. */
#include "report/cell.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "report/repeat.h"

/* Which repeat gave the cell its status. */
struct worst {
	size_t bad;     /* repeats that were not ok */
	bool same;      /* all of those for the same reason */
	int64_t repeat; /* the first with the worst status */
};

/* A metric that changes its unit between repeats, or a cell whose repeats ran over different
 * links, is not one experiment. */
static void
check_fit(const struct report_cell *cell, struct report_repeat *repeat)
{
	const char *runtime = repeat->runtime ? repeat->runtime : "";

	if (cell->ok && strcmp(repeat->link, cell->link))
		report_repeat_fail(repeat, STATUS_FAILED,
			"ran over %s, repeats before it over %s", repeat->link, cell->link);
	else if (cell->ok && cell->runtime && strcmp(runtime, cell->runtime))
		report_repeat_fail(repeat, STATUS_FAILED, "ran in %s, repeats before it in %s",
			runtime, cell->runtime);
	for (size_t i = 0; i < repeat->metrics.count && repeat->status == STATUS_OK; i++) {
		const struct report_metric *new = &repeat->metrics.items[i];
		const struct report_metric *old = report_metrics_find(
			&cell->metrics, new->name);

		if (old && old->has_unit && new->has_unit &&
			(old->unit != new->unit || old->is_count != new->is_count))
			report_repeat_fail(repeat, STATUS_FAILED,
				"metric '%s' is in %s here and in %s before", new->name,
				record_unit_name(new->unit), record_unit_name(old->unit));
	}
}

static void
pool_metric(struct report_cell *cell, const struct report_metric *from)
{
	struct report_metric *to = report_metrics_find(&cell->metrics, from->name);

	if (!to)
		to = report_metrics_add(&cell->metrics, from->name);
	if (from->has_unit) {
		to->has_unit = true;
		to->unit = from->unit;
		to->is_count = from->is_count;
	}
	to->has_errors |= from->has_errors;
	to->errors += from->errors;
	for (size_t i = 0; i < from->pool.count; i++)
		stat_pool_add(&to->pool, from->pool.values[i]);
	stat_pool_end_repeat(&to->pool);
}

static void
pool_repeat(
	struct report_run *run, struct report_cell *cell, const struct report_repeat *repeat)
{
	for (size_t i = 0; i < repeat->metrics.count; i++)
		pool_metric(cell, &repeat->metrics.items[i]);
	for (size_t i = 0; i < repeat->echo.count; i++)
		stat_pool_add(&cell->echo, repeat->echo.values[i]);
	stat_pool_end_repeat(&cell->echo);
	for (int way = 0; way < 2; way++) {
		cell->has_loss |= repeat->has_packets[way];
		cell->link_packets += repeat->packets[way];
		cell->link_lost += repeat->lost[way];
	}
	if (repeat->congestion)
		report_facts_add(&run->congestion, "congestion control", repeat->congestion);
	cell->ok++;
}

static void
note_failure(struct report_cell *cell, const struct report_repeat *repeat, int64_t number,
	struct worst *worst)
{
	bool first = worst->bad++ == 0;

	worst->same = first || (worst->same && repeat->status == cell->status &&
				       !strcmp(repeat->reason, cell->reason));
	if (!first && repeat->status <= cell->status)
		return;
	cell->status = repeat->status;
	worst->repeat = number;
	free(cell->reason);
	cell->reason = alloc_text(repeat->reason);
}

/* How often the runner put this repeat aside because its link was out of tolerance. */
static size_t
count_discarded(const char *folder)
{
	size_t count = 0;

	for (bool there = true; there; count += there) {
		char *aside = alloc_printf("%s.discarded-%zu", folder, count + 1);

		there = access(aside, F_OK) == 0;
		free(aside);
	}
	return count;
}

/* The first repeat that was ok says what the cell ran on, or else the first of all. */
static void
note_place(struct report_cell *cell, const struct report_repeat *repeat)
{
	bool better = repeat->status == STATUS_OK && cell->ok == 0;

	if (repeat->runtime && (!cell->runtime || better)) {
		free(cell->runtime);
		cell->runtime = alloc_text(repeat->runtime);
	}
	if (repeat->link && (!cell->link || better)) {
		free(cell->link);
		cell->link = alloc_text(repeat->link);
	}
}

static int
read_repeat(struct report_run *run, struct report_cell *cell, int64_t number,
	struct worst *worst, struct err *err)
{
	char *folder = alloc_printf("%s/cells/%s/%" PRId64, run->dir, cell->id, number);
	struct report_repeat repeat = {0};
	int status = report_repeat_read(folder, cell->profile->loopback, &repeat, err);

	cell->discarded += count_discarded(folder);
	if (status > 0) {
		cell->done++;
		if (repeat.status == STATUS_OK)
			check_fit(cell, &repeat);
		note_place(cell, &repeat);
		if (repeat.status == STATUS_OK)
			pool_repeat(run, cell, &repeat);
		else
			note_failure(cell, &repeat, number, worst);
	}
	report_repeat_free(&repeat);
	free(folder);
	return status < 0 ? -1 : 0;
}

/* "repeat 2: why", unless every repeat fared alike. */
static void
finish_status(struct report_cell *cell, const struct worst *worst)
{
	char *reason = cell->reason;

	if (cell->done == 0) {
		cell->status = STATUS_SKIPPED;
		cell->reason = alloc_text("not run: the run ended before its turn");
	} else if (worst->bad && !(worst->same && worst->bad == cell->done)) {
		cell->reason = alloc_printf("repeat %" PRId64
					    ": %s (%zu of %zu repeats not ok)",
			worst->repeat, reason, worst->bad, cell->done);
		free(reason);
	}
}

static void
compute_figures(struct report_cell *cell)
{
	for (size_t i = 0; i < cell->metrics.count; i++) {
		struct report_metric *metric = &cell->metrics.items[i];
		char *name = alloc_printf("%s %s", cell->id, metric->name);

		stat_summarize(
			&metric->pool, (uint64_t)cell->run->seed, name, &metric->figures);
		free(name);
	}
	cell->rtt_measured_ns = stat_median(&cell->echo);
}

int
report_cell_read(struct report_run *run, struct report_cell *cell, struct err *err)
{
	char *folder = alloc_printf("%s/cells/%s", run->dir, cell->id);
	bool there = access(folder, F_OK) == 0;
	struct worst worst = {0};
	int status = 0;

	free(folder);
	for (int64_t i = 1; there && !status && i <= run->repeats; i++)
		status = read_repeat(run, cell, i, &worst, err);
	finish_status(cell, &worst);
	compute_figures(cell);
	if (!cell->runtime)
		cell->runtime = alloc_text(run->runtime);
	if (!cell->link)
		cell->link = alloc_text(cell->profile->loopback ? "none" : run->link);
	return status;
}
