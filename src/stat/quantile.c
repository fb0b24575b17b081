/* Nearest-rank quantiles and moments. */
#include "stat/quantile.h"

#include <math.h>
#include <stdlib.h>

#define WHOLE 1000u /* permille */

struct stat_optional
stat_quantile(const int64_t *values, size_t count, unsigned permille)
{
	size_t rank = (count * permille + WHOLE - 1) / WHOLE;

	if (rank == 0 || count * (WHOLE - permille) < WHOLE)
		return (struct stat_optional){0};
	return (struct stat_optional){true, values[rank - 1]};
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t
stat_middle(int64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[(count - 1) / 2];
}

/* Quotients and remainders are summed apart, because the sum of all values may not fit. */
struct stat_optional
stat_mean(const int64_t *values, size_t count)
{
	int64_t n = (int64_t)count, quotients = 0, remainders = 0;

	if (count == 0)
		return (struct stat_optional){0};
	for (size_t i = 0; i < count; i++) {
		quotients += values[i] / n;
		remainders += values[i] % n;
	}
	return (struct stat_optional){true, quotients + (remainders + n / 2) / n};
}

struct stat_optional
stat_stddev(const int64_t *values, size_t count)
{
	double sum = 0, squares = 0, variance;

	if (count < 2)
		return (struct stat_optional){0};
	/* Distances from one of the values: small, so squaring them loses nothing that shows.
	 */
	for (size_t i = 0; i < count; i++)
		sum += (double)(values[i] - values[0]);
	for (size_t i = 0; i < count; i++) {
		double off = (double)(values[i] - values[0]) - sum / (double)count;

		squares += off * off;
	}
	variance = squares / (double)(count - 1);
	return (struct stat_optional){true, (int64_t)(sqrt(variance) + 0.5)};
}
