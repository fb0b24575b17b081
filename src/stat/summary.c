/* The figures of one metric. */
#include "stat/summary.h"

#include "base/rng.h"
#include "stat/bootstrap.h"

void
stat_summarize(const struct stat_pool *pool, uint64_t seed, const char *name,
	struct stat_summary *summary)
{
	struct stat_sorted all = stat_pool_sort(pool);
	struct stat_interval interval;
	struct rng rng;

	rng_seed(&rng, seed, rng_hash(name));
	interval = stat_median_interval(&all, &rng);
	*summary = (struct stat_summary){
		.n = all.count,
		.mean = stat_mean(all.values, all.count),
		.stddev = stat_stddev(all.values, all.count),
		.p50 = stat_quantile(all.values, all.count, 500),
		.p90 = stat_quantile(all.values, all.count, 900),
		.p99 = stat_quantile(all.values, all.count, 990),
		.p999 = stat_quantile(all.values, all.count, 999),
		.p50_lo = {interval.known, interval.low},
		.p50_hi = {interval.known, interval.high},
	};
	if (all.count) {
		summary->min = (struct stat_optional){true, all.values[0]};
		summary->max = (struct stat_optional){true, all.values[all.count - 1]};
	}
	stat_sorted_free(&all);
}

struct stat_optional
stat_median(const struct stat_pool *pool)
{
	struct stat_sorted all = stat_pool_sort(pool);
	struct stat_optional median = stat_quantile(all.values, all.count, 500);

	stat_sorted_free(&all);
	return median;
}
