/* The cells of one probe and address family, laid out as variants x profiles. */
#ifndef REPORT_GROUP_H
#define REPORT_GROUP_H

#include "base/buf.h"
#include "report/model.h"

/* Names and cells belong to the report; everything is in the order it first appeared. */
struct report_group {
	const char *probe;
	int family;
	const char **variants;
	size_t variant_count, variant_cap;
	const struct report_profile **profiles;
	size_t profile_count, profile_cap;
	const char **metrics;
	size_t metric_count, metric_cap;
	const struct report_cell **cells; /* [variant * profile_count + profile], or NULL */
};

/* All groups of a report; free each with report_group_free(), then the array. */
struct report_group *report_groups(const struct report *report, size_t *count);

void report_group_free(struct report_group *group);

const struct report_cell *report_group_cell(
	const struct report_group *group, size_t variant, size_t profile);

/* The metric of that name in that cell when it has a figure, or NULL; `cell` may be NULL. */
const struct report_metric *report_cell_metric(
	const struct report_cell *cell, const char *name);

/* Append the median of that metric of that cell in measured round trips, "2.00"; nothing where
 * there is no link, or the metric is no time. */
void report_cell_rtts(
	const struct report_cell *cell, const struct report_metric *metric, struct buf *out);

/* A variant without the settings that all variants of the group share; free() it. */
char *report_group_short(const struct report_group *group, size_t variant);

/* The settings all variants share, "k=v;k=v"; "" when none or when there is one variant only.
 * free() it. */
char *report_group_shared(const struct report_group *group);

#endif
