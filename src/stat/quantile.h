/* Quantiles, mean and deviation of whole numbers, in whole numbers. */
#ifndef STAT_QUANTILE_H
#define STAT_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A figure that may not be there, because too few samples were. */
struct stat_optional {
	bool known;
	int64_t value;
};

/* Nearest rank: the smallest of the ascending `values` that at least permille/1000 of them do
 * not exceed; 999 is p99.9. Not known when count < 1/(1 - permille/1000): p50 needs 2 values,
 * p90 10, p99 100, p99.9 1000. */
struct stat_optional stat_quantile(const int64_t *values, size_t count, unsigned permille);

/* The middle value, of an even count the lower one; there must be one. Sorts `values`. */
int64_t stat_middle(int64_t *values, size_t count);

/* Exact, rounded half up; not known of no values. The values must not be negative. */
struct stat_optional stat_mean(const int64_t *values, size_t count);

/* Of a sample (n - 1), rounded; not known of fewer than two values. */
struct stat_optional stat_stddev(const int64_t *values, size_t count);

#endif
