/* Names of statuses, lists of facts and metrics, and who frees what. */
#include "report/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void
report_facts_add(struct report_facts *facts, const char *name, const char *value)
{
	for (size_t i = 0; i < facts->count; i++)
		if (!strcmp(facts->items[i].name, name) &&
			!strcmp(facts->items[i].value, value))
			return;
	facts->items = alloc_grow(
		facts->items, facts->count, &facts->cap, sizeof(*facts->items));
	facts->items[facts->count++] = (struct report_fact){
		alloc_text(name), alloc_text(value)};
}

void
report_facts_free(struct report_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++) {
		free(facts->items[i].name);
		free(facts->items[i].value);
	}
	free(facts->items);
	*facts = (struct report_facts){0};
}

struct report_metric *
report_metrics_find(const struct report_metrics *metrics, const char *name)
{
	for (size_t i = 0; i < metrics->count; i++)
		if (!strcmp(metrics->items[i].name, name))
			return &metrics->items[i];
	return NULL;
}

struct report_metric *
report_metrics_add(struct report_metrics *metrics, const char *name)
{
	struct report_metric *metric;

	metrics->items = alloc_grow(
		metrics->items, metrics->count, &metrics->cap, sizeof(*metrics->items));
	metric = &metrics->items[metrics->count++];
	*metric = (struct report_metric){0};
	snprintf(metric->name, sizeof(metric->name), "%s", name);
	return metric;
}

void
report_metrics_free(struct report_metrics *metrics)
{
	for (size_t i = 0; i < metrics->count; i++)
		stat_pool_free(&metrics->items[i].pool);
	free(metrics->items);
	*metrics = (struct report_metrics){0};
}

static void
cell_free(struct report_cell *cell)
{
	for (size_t i = 0; i < cell->expect_count; i++) {
		free(cell->expects[i].metric);
		free(cell->expects[i].text);
		free(cell->expects[i].found);
	}
	free(cell->expects);
	report_facts_free(&cell->options);
	report_metrics_free(&cell->metrics);
	stat_pool_free(&cell->echo);
	free(cell->id);
	free(cell->probe);
	free(cell->variant);
	free(cell->reason);
	free(cell->runtime);
	free(cell->link);
}

void
report_run_free(struct report_run *run)
{
	for (size_t i = 0; i < run->cell_count; i++)
		cell_free(&run->cells[i]);
	for (size_t i = 0; i < run->profile_count; i++)
		free(run->profiles[i].name);
	report_facts_free(&run->system);
	report_facts_free(&run->congestion);
	free(run->cells);
	free(run->profiles);
	free(run->dir);
	free(run->name);
	free(run->matrix);
	free(run->runtime);
	free(run->link);
	free(run->start);
	free(run->end);
	free(run->awake);
	*run = (struct report_run){0};
}
