/* How well a median is known: a two-level bootstrap.
 *
 * Samples of one repeat resemble each other more than samples of another repeat do (other
 * cores, other cache, other neighbours), so a round draws repeats first, with replacement, and
 * then as many samples from each drawn repeat as it has. The interval spans the middle 95% of
 * the medians of STAT_ROUNDS such rounds.
 *
 * What to expect of it, as tests/unit/test_stat.c measures: samples that do not depend on their
 * repeat get an interval somewhat wider than needed (they pay for both levels). Where repeats
 * differ as much as samples do, it is too narrow, as every bootstrap of few groups is: of 20
 * repeats it holds the true median 95 times in 100, of 5 repeats 86 times, of 2 only 60.
 *
 * Cost: up to 128 samples a round really draws them. Of more, only how many draws fall at or
 * below a value matters; that is a sum of binomials, and close to a normal distribution. One
 * normal number then decides the round, and its median is found by bisection: microseconds in
 * place of a pass over all samples. */
#ifndef STAT_BOOTSTRAP_H
#define STAT_BOOTSTRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "stat/pool.h"

#define STAT_ROUNDS 1000

struct stat_interval {
	bool known; /* fewer than two samples have none */
	int64_t low, high;
};

/* The 95% interval of the median. The same samples and the same state of `rng` give the same
 * interval on every machine. */
struct stat_interval stat_median_interval(const struct stat_sorted *sorted, struct rng *rng);

#endif
