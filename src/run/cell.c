/* One cell: its settings, its deadline, its share of the time. */
#include "run/entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"

#define DEADLINE_MAX_NS (86400 * NS_PER_S)
#define PPM 1000000

void
settings_add(struct settings *settings, const char *name, const char *value)
{
	settings->items = alloc_resize(
		settings->items, settings->count + 1, sizeof(*settings->items));
	settings->items[settings->count++] = (struct setting){
		alloc_text(name), alloc_text(value)};
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct setting *)a)->name, ((const struct setting *)b)->name);
}

void
settings_sort(struct settings *settings)
{
	if (settings->count)
		qsort(settings->items, settings->count, sizeof(*settings->items), by_name);
}

void
settings_free(struct settings *settings)
{
	for (size_t i = 0; i < settings->count; i++) {
		free(settings->items[i].name);
		free(settings->items[i].value);
	}
	free(settings->items);
	*settings = (struct settings){0};
}

bool
settings_match(const struct settings *all, const struct settings *some)
{
	for (size_t i = 0, j = 0; i < some->count; i++) {
		while (j < all->count && strcmp(all->items[j].name, some->items[i].name) < 0)
			j++;
		if (j == all->count || strcmp(all->items[j].name, some->items[i].name) ||
			strcmp(all->items[j].value, some->items[i].value))
			return false;
	}
	return true;
}

bool
expect_has_profile(const struct expectation *expect, const char *profile)
{
	for (size_t i = 0; i < expect->profile_count; i++)
		if (!strcmp(expect->profiles[i], profile))
			return true;
	return expect->profile_count == 0;
}

void
expect_free(struct expectation *expect)
{
	for (size_t i = 0; i < expect->profile_count; i++)
		free(expect->profiles[i]);
	free(expect->profiles);
	free(expect->metric);
	settings_free(&expect->where);
}

void
cell_free(struct cell *cell)
{
	free(cell->id);
	free(cell->probe);
	free(cell->command);
	free(cell->image);
	free(cell->loopback);
	free(cell->variant);
	free((void *)(uintptr_t)cell->expects);
	settings_free(&cell->options);
}

int64_t
cell_deadline_ns(const struct profile *profile, int64_t samples)
{
	const struct impairment *up = &profile->path[UP], *down = &profile->path[DOWN];
	int64_t loss_ppm = up->loss_ppm + down->loss_ppm;
	int64_t retries_ns = 24 * NS_PER_S / PPM * loss_ppm;
	int64_t sample_ns = 8 * profile_rtt_ns(profile) +
			    2 * (up->jitter_ns + down->jitter_ns) + retries_ns + 10 * NS_PER_MS;

	if (samples > (DEADLINE_MAX_NS - 10 * NS_PER_S) / sample_ns)
		return DEADLINE_MAX_NS;
	return 10 * NS_PER_S + samples * sample_ns;
}

/* How many samples the cell takes side by side. */
static int64_t
at_once(const struct cell *cell)
{
	int64_t workers = 0;

	for (size_t i = 0; i < cell->options.count; i++)
		if (!strcmp(cell->options.items[i].name, "workers"))
			units_parse_count(cell->options.items[i].value, &workers, NULL);
	return workers > 0 ? workers : 1;
}

/* The time between samples that do not wait for the one before; -1 where none is set. */
static int64_t
pace_ns(const struct cell *cell)
{
	int64_t pace = -1;

	for (size_t i = 0; i < cell->options.count; i++)
		if (!strcmp(cell->options.items[i].name, "pace"))
			units_parse(UNIT_DURATION, cell->options.items[i].value, &pace, NULL);
	return pace;
}

int64_t
cell_estimate_ns(const struct cell *cell)
{
	int64_t trip_ns = profile_rtt_ns(cell->profile), pace = pace_ns(cell);
	int64_t workers = at_once(cell), rounds = (cell->samples + workers - 1) / workers;

	if (cell->loopback && !cell->profile->loopback)
		return 0; /* skipped */
	/* A message takes a few microseconds to send, whatever the link. */
	if (pace >= 0)
		return 150 * NS_PER_MS + 8 * trip_ns +
		       cell->samples * (pace > 0 ? pace : 5 * NS_PER_US);
	/* Even loopback takes some 50 us for a round trip between two processes. */
	return 150 * NS_PER_MS + rounds * 4 * trip_ns + cell->samples * 4 * 50 * NS_PER_US;
}
