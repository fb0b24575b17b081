/* Samples by repeat, and all of them in ascending order. */
#include "stat/pool.h"

#include <stdlib.h>

#include "base/alloc.h"

struct entry {
	int64_t value;
	uint32_t repeat;
};

void
stat_pool_add(struct stat_pool *pool, int64_t value)
{
	pool->values = alloc_grow(pool->values, pool->count, &pool->cap, sizeof(*pool->values));
	pool->values[pool->count++] = value;
}

void
stat_pool_end_repeat(struct stat_pool *pool)
{
	size_t before = pool->repeats ? pool->ends[pool->repeats - 1] : 0;

	if (pool->count == before)
		return;
	pool->ends = alloc_grow(
		pool->ends, pool->repeats, &pool->ends_cap, sizeof(*pool->ends));
	pool->ends[pool->repeats++] = pool->count;
}

void
stat_pool_free(struct stat_pool *pool)
{
	free(pool->values);
	free(pool->ends);
	*pool = (struct stat_pool){0};
}

/* Equal values are ordered by repeat, so that the result is the same whatever qsort() does. */
static int
compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->repeat > b->repeat) - (a->repeat < b->repeat);
}

struct stat_sorted
stat_pool_sort(const struct stat_pool *pool)
{
	size_t count = pool->repeats ? pool->ends[pool->repeats - 1] : 0;
	struct entry *entries = alloc_zero(count, sizeof(*entries));
	struct stat_sorted sorted = {
		.values = alloc_zero(count, sizeof(*sorted.values)),
		.repeat = alloc_zero(count, sizeof(*sorted.repeat)),
		.count = count,
		.repeats = pool->repeats,
	};
	uint32_t repeat = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == pool->ends[repeat])
			repeat++;
		entries[i] = (struct entry){pool->values[i], repeat};
	}
	qsort(entries, count, sizeof(*entries), compare);
	for (size_t i = 0; i < count; i++) {
		sorted.values[i] = entries[i].value;
		sorted.repeat[i] = entries[i].repeat;
	}
	free(entries);
	return sorted;
}

void
stat_sorted_free(struct stat_sorted *sorted)
{
	free(sorted->values);
	free(sorted->repeat);
	*sorted = (struct stat_sorted){0};
}
