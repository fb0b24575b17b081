/* Counts what one half printed and holds it against what was asked for and announced. */
#include "run/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define ERRORS "_errors"
#define METRICS_MAX 256 /* different names one half may print */

static struct tally_metric *
find(const struct tally *tally, const char *name)
{
	for (size_t i = 0; i < tally->count; i++)
		if (!strcmp(tally->metrics[i].name, name))
			return &tally->metrics[i];
	return NULL;
}

/* The length of METRIC in METRIC_errors, or 0. */
static size_t
errors_of(const char *name)
{
	size_t len = strlen(name), tail = strlen(ERRORS);

	return len > tail && !strcmp(name + len - tail, ERRORS) ? len - tail : 0;
}

static int
take(const struct record *record, void *context, struct err *err)
{
	struct tally *tally = context;
	struct tally_metric *metric;

	if (record->kind != RECORD_SAMPLE && record->kind != RECORD_COUNT)
		return 0;
	metric = find(tally, record->name);
	if (metric && metric->kind == RECORD_COUNT && record->kind == RECORD_COUNT)
		return err_set(err, "count '%s' is printed twice", record->name);
	if (metric && (metric->kind != record->kind || metric->unit != record->unit))
		return err_set(err, "metric '%s' changes its kind or unit", record->name);
	if (!metric && tally->count == METRICS_MAX)
		return err_set(err, "more than %d different metrics", METRICS_MAX);
	if (!metric) {
		tally->metrics = alloc_grow(
			tally->metrics, tally->count, &tally->cap, sizeof(*tally->metrics));
		metric = &tally->metrics[tally->count++];
		*metric = (struct tally_metric){.kind = record->kind, .unit = record->unit};
		strcpy(metric->name, record->name);
	}
	metric->samples += record->kind == RECORD_SAMPLE;
	metric->value = record->value;
	return 0;
}

int
tally_read(struct tally *tally, const struct buf *output, struct err *err)
{
	return record_each(buf_text(output), output->len, take, tally, err);
}

int
tally_measured(const struct tally *tally, struct err *err)
{
	for (size_t i = 0; i < tally->count; i++)
		if (!errors_of(tally->metrics[i].name))
			return 0;
	return err_set(err, "no sample and no count");
}

/* How many measurements of the metric were tried, the lost ones included. */
static int64_t
tried(const struct tally *tally, const struct tally_metric *metric)
{
	char *name = alloc_printf("%s" ERRORS, metric->name);
	const struct tally_metric *errors = find(tally, name);

	free(name);
	return metric->samples + (errors ? errors->value : 0);
}

int
tally_complete(const struct tally *tally, int64_t wanted, struct err *err)
{
	const struct tally_metric *sampled = NULL;

	for (size_t i = 0; i < tally->count; i++) {
		const struct tally_metric *metric = &tally->metrics[i];

		if (metric->kind != RECORD_SAMPLE)
			continue;
		if (tried(tally, metric) == wanted)
			return 0;
		sampled = sampled ? sampled : metric;
	}
	if (!sampled)
		return 0;
	return err_set(err, "%" PRId64 " of %s", tried(tally, sampled), sampled->name);
}

static const struct probe_metric *
find_listed(const struct probe_desc *desc, const char *name, size_t len)
{
	for (size_t i = 0; i < desc->metric_count; i++)
		if (strlen(desc->metrics[i].name) == len &&
			!strncmp(desc->metrics[i].name, name, len))
			return &desc->metrics[i];
	return NULL;
}

int
tally_listed(const struct tally *tally, const struct probe_desc *desc, struct err *err)
{
	for (size_t i = 0; i < tally->count; i++) {
		const struct tally_metric *metric = &tally->metrics[i];
		size_t stem = metric->kind == RECORD_COUNT ? errors_of(metric->name) : 0;
		const struct probe_metric *listed = find_listed(
			desc, metric->name, strlen(metric->name));

		if (!listed && stem && find_listed(desc, metric->name, stem))
			continue;
		if (!listed)
			return err_set(err, "'%s', which it does not list", metric->name);
		if (listed->unit != metric->unit)
			return err_set(err, "'%s' in %s, which it lists in %s", metric->name,
				record_unit_name(metric->unit), record_unit_name(listed->unit));
	}
	return 0;
}

int
tally_apart(const struct tally *a, const struct tally *b, struct err *err)
{
	for (size_t i = 0; i < a->count; i++)
		if (find(b, a->metrics[i].name))
			return err_set(err, "both halves printed '%s'", a->metrics[i].name);
	return 0;
}

void
tally_free(struct tally *tally)
{
	free(tally->metrics);
	*tally = (struct tally){0};
}
