/* How late packets left, against when they were due: a histogram in whole microseconds. */
#ifndef LINK_LATENESS_H
#define LINK_LATENESS_H

#include <stdint.h>

#define LATENESS_BUCKETS 10000 /* up to 10 ms; all that is later shares the last one */

struct lateness {
	int64_t count;
	int64_t max_ns;
	uint32_t buckets[LATENESS_BUCKETS];
};

void lateness_add(struct lateness *lateness, int64_t late_ns);

/* The nearest-rank quantile `permille`, rounded up to a microsecond and never above the
 * maximum; 0 when nothing was added. */
int64_t lateness_quantile(const struct lateness *lateness, int64_t permille);

#endif
