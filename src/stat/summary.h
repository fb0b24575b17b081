/* What the samples of one metric say: one row of figures. */
#ifndef STAT_SUMMARY_H
#define STAT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "stat/pool.h"
#include "stat/quantile.h"

/* In the unit of the samples. A figure that the number of samples cannot support is not known.
 */
struct stat_summary {
	size_t n;
	struct stat_optional min, mean, stddev, max;
	struct stat_optional p50, p90, p99, p999;
	struct stat_optional p50_lo, p50_hi; /* the 95% interval of p50 */
};

/* `seed` and `name` choose the random numbers of the interval: the same give the same. */
void stat_summarize(const struct stat_pool *pool, uint64_t seed, const char *name,
	struct stat_summary *summary);

/* The median alone. */
struct stat_optional stat_median(const struct stat_pool *pool);

#endif
