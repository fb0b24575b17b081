/* The raw samples of one metric, kept repeat by repeat: percentiles are taken of these and
 * never of percentiles. */
#ifndef STAT_POOL_H
#define STAT_POOL_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; release with stat_pool_free(). */
struct stat_pool {
	int64_t *values; /* in the order they were added */
	size_t count, cap;
	size_t *ends; /* the values of repeat i are those before ends[i] */
	size_t repeats, ends_cap;
};

void stat_pool_add(struct stat_pool *pool, int64_t value);

/* What was added since the last call was one repeat; nothing added is no repeat. */
void stat_pool_end_repeat(struct stat_pool *pool);

void stat_pool_free(struct stat_pool *pool);

/* The same samples in ascending order, each with the repeat it came from. */
struct stat_sorted {
	int64_t *values;
	uint32_t *repeat; /* of values[i]: 0 .. repeats - 1 */
	size_t count;
	size_t repeats;
};

/* Release the result with stat_sorted_free(). Values behind the last ended repeat are left out.
 */
struct stat_sorted stat_pool_sort(const struct stat_pool *pool);

void stat_sorted_free(struct stat_sorted *sorted);

#endif
