/* Sorts the records of a half into metrics. */
#include "report/half.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/repeat.h"

#define METRICS_MAX 256
#define ERRORS "_errors" /* count METRIC_errors N: how many of METRIC gave no sample */

/* Samples of a metric mostly come in a row, or take turns in a fixed order. */
static struct report_metric *
find_metric(struct report_repeat *repeat, const char *name)
{
	struct report_metrics *metrics = &repeat->metrics;

	for (size_t i = 0; i < metrics->count; i++) {
		size_t at = (repeat->last + i) % metrics->count;

		if (!strcmp(metrics->items[at].name, name)) {
			repeat->last = at;
			return &metrics->items[at];
		}
	}
	return NULL;
}

/* The metric a record of this half adds to; NULL with an error when it may not. */
static struct report_metric *
claim_metric(struct report_repeat *repeat, const char *name, struct err *err)
{
	struct report_metric *metric = find_metric(repeat, name);

	if (!metric && repeat->metrics.count == METRICS_MAX) {
		err_set(err, "more than %d metrics", METRICS_MAX);
		return NULL;
	}
	if (!metric) {
		metric = report_metrics_add(&repeat->metrics, name);
		repeat->last = repeat->metrics.count - 1;
	}
	if (!strcmp(repeat->half, "server") && repeat->last < repeat->client_metrics) {
		err_set(err, "metric '%s' is printed by both halves", name);
		return NULL;
	}
	return metric;
}

static int
take_value(struct report_repeat *repeat, const struct record *record, struct err *err)
{
	struct report_metric *metric = claim_metric(repeat, record->name, err);
	bool is_count = record->kind == RECORD_COUNT;

	if (!metric)
		return -1;
	if (metric->has_unit && is_count && metric->is_count)
		return err_set(err, "count '%s' is printed twice", record->name);
	if (metric->has_unit && (is_count != metric->is_count || record->unit != metric->unit))
		return err_set(err, "metric '%s' changes from %s%s to %s%s", record->name,
			metric->is_count ? "count " : "sample ", record_unit_name(metric->unit),
			is_count ? "count " : "sample ", record_unit_name(record->unit));
	metric->has_unit = true;
	metric->unit = record->unit;
	metric->is_count = is_count;
	stat_pool_add(&metric->pool, record->value);
	return 0;
}

static int
take_errors(struct report_repeat *repeat, const struct record *record, struct err *err)
{
	char name[RECORD_NAME_SIZE];
	struct report_metric *metric;

	snprintf(name, sizeof(name), "%.*s", (int)(strlen(record->name) - strlen(ERRORS)),
		record->name);
	metric = claim_metric(repeat, name, err);
	if (!metric)
		return -1;
	if (metric->has_errors)
		return err_set(err, "count '%s' is printed twice", record->name);
	metric->has_errors = true;
	metric->errors = record->value;
	return 0;
}

static bool
counts_errors(const struct record *record)
{
	size_t len = strlen(record->name), tail = strlen(ERRORS);

	return record->kind == RECORD_COUNT && len > tail &&
	       !strcmp(record->name + len - tail, ERRORS);
}

static void
keep_congestion(struct report_repeat *repeat, const char *text)
{
	free(repeat->congestion);
	repeat->congestion = alloc_text(text);
}

int
report_half_take(const struct record *record, void *context, struct err *err)
{
	struct report_repeat *repeat = context;

	switch (record->kind) {
	case RECORD_SAMPLE:
	case RECORD_COUNT:
		if (counts_errors(record))
			return take_errors(repeat, record, err);
		return take_value(repeat, record, err);
	case RECORD_INFO:
		if (!strcmp(record->name, "congestion_control") ||
			!strcmp(record->name, "congestion"))
			keep_congestion(repeat, record->text);
		return 0;
	case RECORD_READY:
		return 0;
	}
	return 0;
}
