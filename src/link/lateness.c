/* Counting how late packets left. */
#include "link/lateness.h"

#include "base/clock.h"

void
lateness_add(struct lateness *lateness, int64_t late_ns)
{
	int64_t bucket = late_ns / NS_PER_US;

	if (bucket >= LATENESS_BUCKETS)
		bucket = LATENESS_BUCKETS - 1;
	lateness->buckets[bucket]++;
	lateness->count++;
	if (late_ns > lateness->max_ns)
		lateness->max_ns = late_ns;
}

int64_t
lateness_quantile(const struct lateness *lateness, int64_t permille)
{
	int64_t rank = (lateness->count * permille + 999) / 1000;

	for (int64_t i = 0; i < LATENESS_BUCKETS - 1; i++) {
		rank -= lateness->buckets[i];
		if (rank <= 0)
			return (i + 1) * NS_PER_US < lateness->max_ns ? (i + 1) * NS_PER_US
								      : lateness->max_ns;
	}
	return lateness->max_ns;
}
