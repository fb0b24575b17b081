/* Verdicts. */
#include "report/judge.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "report/text.h"

const char *
report_verdict_name(enum report_verdict verdict)
{
	static const char *const names[] = {
		[REPORT_UNJUDGED] = "not judged",
		[REPORT_HELD] = "held",
		[REPORT_BROKEN] = "BROKEN",
	};

	return names[verdict];
}

void
report_verdicts_text(const size_t counts[static REPORT_VERDICTS], struct buf *out)
{
	static const enum report_verdict order[] = {
		REPORT_BROKEN, REPORT_HELD, REPORT_UNJUDGED};
	const char *join = "";

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (!counts[order[i]])
			continue;
		buf_printf(
			out, "%s%s %zu", join, report_verdict_name(order[i]), counts[order[i]]);
		join = ", ";
	}
}

static void
decide(struct report_expect *expect, enum report_verdict verdict, struct buf *found)
{
	expect->verdict = verdict;
	expect->found = alloc_text(buf_text(found));
	buf_free(found);
}

static void
decide_text(struct report_expect *expect, enum report_verdict verdict, const char *why)
{
	expect->verdict = verdict;
	expect->found = alloc_text(why);
}

static enum report_verdict
within(double low, double value, double high)
{
	return value >= low && value <= high ? REPORT_HELD : REPORT_BROKEN;
}

static void
judge_rtts(const struct report_cell *cell, const struct report_metric *metric,
	struct report_expect *expect)
{
	struct buf found = {0};
	int64_t p50 = metric->figures.p50.value, rtt = cell->rtt_measured_ns.value;

	if (cell->profile->loopback || !cell->rtt_measured_ns.known || rtt == 0) {
		decide_text(expect, REPORT_UNJUDGED,
			"there is no link with a round trip to compare with");
		return;
	}
	if (metric->unit != RECORD_NS) {
		decide_text(expect, REPORT_BROKEN, "the metric is not a time");
		return;
	}
	report_text_fixed(&found, report_text_scaled(p50, rtt, 3), 3);
	buf_puts(&found, " RTT (");
	report_text_value(&found, metric->unit, p50);
	buf_printf(&found, ", n %zu)", metric->figures.n);
	expect->figure = (double)p50 / (double)rtt;
	decide(expect, within(expect->low, expect->figure, expect->high), &found);
}

/* A count holds when that of every repeat does; samples when their median does. */
static void
judge_value(const struct report_metric *metric, struct report_expect *expect)
{
	const struct stat_summary *figures = &metric->figures;
	struct buf found = {0};

	expect->figure = (double)(metric->is_count ? figures->min.value : figures->p50.value);
	if (!metric->is_count) {
		report_text_value(&found, metric->unit, figures->p50.value);
		buf_printf(&found, " (n %zu)", figures->n);
		decide(expect, within(expect->low, (double)figures->p50.value, expect->high),
			&found);
		return;
	}
	report_text_value(&found, metric->unit, figures->min.value);
	if (figures->min.value != figures->max.value) {
		buf_puts(&found, " to ");
		report_text_value(&found, metric->unit, figures->max.value);
	}
	buf_printf(&found, " in %zu repeat%s", figures->n, figures->n == 1 ? "" : "s");
	decide(expect,
		within(expect->low, expect->figure, expect->high) == REPORT_HELD
			? within(expect->low, (double)figures->max.value, expect->high)
			: REPORT_BROKEN,
		&found);
}

static void
judge_one(const struct report_cell *cell, struct report_expect *expect)
{
	const struct report_metric *metric = report_metrics_find(
		&cell->metrics, expect->metric);

	if (expect->kind == REPORT_EQUALS)
		expect->high = expect->low;
	if (cell->ok == 0)
		decide_text(expect, REPORT_UNJUDGED, status_name(cell->status));
	else if (!metric || metric->figures.n == 0)
		decide_text(expect, REPORT_BROKEN, "the probe reported no such metric");
	else if ((expect->kind == REPORT_RTTS || !metric->is_count) &&
		 !metric->figures.p50.known)
		decide_text(expect, REPORT_UNJUDGED, "one sample is too few for a median");
	else if (expect->kind == REPORT_RTTS)
		judge_rtts(cell, metric, expect);
	else
		judge_value(metric, expect);
}

void
report_judge(struct report_cell *cell)
{
	for (size_t i = 0; i < cell->expect_count; i++)
		judge_one(cell, &cell->expects[i]);
}
