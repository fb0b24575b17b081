/* Lays cells out for tables. */
#include "report/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/text.h"

/* The place of `name` in the list, where it is put if need be. */
static size_t
name_index(const char ***names, size_t *count, size_t *cap, const char *name)
{
	for (size_t i = 0; i < *count; i++)
		if (!strcmp((*names)[i], name))
			return i;
	*names = alloc_grow(*names, *count, cap, sizeof(**names));
	(*names)[*count] = name;
	return (*count)++;
}

static size_t
profile_index(struct report_group *group, const struct report_profile *profile)
{
	for (size_t i = 0; i < group->profile_count; i++)
		if (!strcmp(group->profiles[i]->name, profile->name))
			return i;
	group->profiles = alloc_grow(group->profiles, group->profile_count, &group->profile_cap,
		sizeof(*group->profiles));
	group->profiles[group->profile_count] = profile;
	return group->profile_count++;
}

static struct report_group *
find_group(struct report_group **groups, size_t *count, size_t *cap,
	const struct report_cell *cell)
{
	for (size_t i = 0; i < *count; i++)
		if (!strcmp((*groups)[i].probe, cell->probe) &&
			(*groups)[i].family == cell->family)
			return &(*groups)[i];
	*groups = alloc_grow(*groups, *count, cap, sizeof(**groups));
	(*groups)[*count] = (struct report_group){.probe = cell->probe, .family = cell->family};
	return &(*groups)[(*count)++];
}

/* Profiles stand in the order of the manifest, whichever cell came first. */
static void
order_profiles(const struct report *report, struct report_group *group)
{
	size_t placed = 0;

	for (size_t r = 0; r < report->run_count; r++) {
		for (size_t p = 0; p < report->runs[r].profile_count; p++) {
			const char *name = report->runs[r].profiles[p].name;

			for (size_t i = placed; i < group->profile_count; i++) {
				const struct report_profile *found = group->profiles[i];

				if (strcmp(found->name, name))
					continue;
				group->profiles[i] = group->profiles[placed];
				group->profiles[placed++] = found;
				break;
			}
		}
	}
}

static void
name_cell(struct report_group *group, const struct report_cell *cell)
{
	name_index(&group->variants, &group->variant_count, &group->variant_cap, cell->variant);
	profile_index(group, cell->profile);
	for (size_t i = 0; i < cell->metrics.count; i++)
		name_index(&group->metrics, &group->metric_count, &group->metric_cap,
			cell->metrics.items[i].name);
}

static void
place_cell(struct report_group *group, const struct report_cell *cell)
{
	size_t variant = name_index(
		&group->variants, &group->variant_count, &group->variant_cap, cell->variant);

	group->cells[variant * group->profile_count + profile_index(group, cell->profile)] =
		cell;
}

struct report_group *
report_groups(const struct report *report, size_t *count)
{
	struct report_group *groups = NULL;
	size_t cap = 0;

	*count = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t r = 0; r < report->run_count; r++) {
			for (size_t i = 0; i < report->runs[r].cell_count; i++) {
				const struct report_cell *cell = &report->runs[r].cells[i];
				struct report_group *group = find_group(
					&groups, count, &cap, cell);

				if (pass == 0)
					name_cell(group, cell);
				else
					place_cell(group, cell);
			}
		}
		for (size_t i = 0; pass == 0 && i < *count; i++) {
			order_profiles(report, &groups[i]);
			groups[i].cells = alloc_zero(
				groups[i].variant_count * groups[i].profile_count,
				sizeof(*groups[i].cells));
		}
	}
	return groups;
}

void
report_group_free(struct report_group *group)
{
	free(group->variants);
	free(group->profiles);
	free(group->metrics);
	free(group->cells);
	*group = (struct report_group){0};
}

const struct report_cell *
report_group_cell(const struct report_group *group, size_t variant, size_t profile)
{
	return group->cells[variant * group->profile_count + profile];
}

const struct report_metric *
report_cell_metric(const struct report_cell *cell, const char *name)
{
	const struct report_metric *metric = cell ? report_metrics_find(&cell->metrics, name)
						  : NULL;

	return metric && metric->figures.n ? metric : NULL;
}

void
report_cell_rtts(
	const struct report_cell *cell, const struct report_metric *metric, struct buf *out)
{
	if (!cell->profile->loopback && metric->unit == RECORD_NS &&
		metric->figures.p50.known && cell->rtt_measured_ns.known &&
		cell->rtt_measured_ns.value > 0)
		report_text_ratio(out, metric->figures.p50.value, cell->rtt_measured_ns.value);
}

/* Is the setting `word` ("k=v", `len` bytes) one of `variant`'s? */
static bool
has_setting(const char *variant, const char *word, size_t len)
{
	while (*variant) {
		size_t here = strcspn(variant, ";");

		if (here == len && !strncmp(variant, word, len))
			return true;
		variant += here + (variant[here] == ';');
	}
	return false;
}

/* The settings of `variant` that all share, or those that not all do. */
static char *
settings(const struct report_group *group, const char *variant, bool shared)
{
	struct buf out = {0};
	char *text;

	while (*variant) {
		size_t len = strcspn(variant, ";"), having = 0;

		for (size_t i = 0; i < group->variant_count; i++)
			having += has_setting(group->variants[i], variant, len);
		if ((having == group->variant_count) == shared) {
			buf_puts(&out, out.len ? ";" : "");
			buf_add(&out, variant, len);
		}
		variant += len + (variant[len] == ';');
	}
	text = alloc_text(buf_text(&out));
	buf_free(&out);
	return text;
}

char *
report_group_short(const struct report_group *group, size_t variant)
{
	char *text;

	if (group->variant_count < 2)
		return alloc_text(group->variants[variant]);
	text = settings(group, group->variants[variant], false);
	if (*text)
		return text;
	free(text);
	return alloc_text("(no more settings)");
}

char *
report_group_shared(const struct report_group *group)
{
	if (group->variant_count < 2)
		return alloc_text("");
	return settings(group, group->variants[0], true);
}
