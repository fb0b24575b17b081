/* Quantiles, moments and the interval of the median, against values known by hand. */
#include "check.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "stat/bootstrap.h"
#include "stat/pool.h"
#include "stat/quantile.h"
#include "stat/summary.h"

#define CHECK_KNOWN(optional, expected)                                                        \
	do {                                                                                   \
		struct stat_optional check_o = (optional);                                     \
		CHECK_INT(check_o.known, true);                                                \
		CHECK_INT(check_o.value, expected);                                            \
	} while (0)

/* 1, 2 … count, as one repeat. */
static struct stat_pool
ramp(size_t count)
{
	struct stat_pool pool = {0};

	for (size_t i = 1; i <= count; i++)
		stat_pool_add(&pool, (int64_t)i);
	stat_pool_end_repeat(&pool);
	return pool;
}

static void
quantile_is_nearest_rank(void)
{
	/* The worked example of Wikipedia's "Percentile", nearest-rank method. */
	static const int64_t ages[] = {3, 6, 7, 8, 8, 10, 13, 15, 16, 20};

	CHECK_KNOWN(stat_quantile(ages, 10, 250), 7);
	CHECK_KNOWN(stat_quantile(ages, 10, 500), 8);
	CHECK_KNOWN(stat_quantile(ages, 10, 750), 15);
	CHECK_KNOWN(stat_quantile(ages, 10, 900), 16);
	CHECK_KNOWN(stat_quantile(ages, 2, 500), 3);
	CHECK_KNOWN(stat_quantile(ages, 3, 500), 6);
}

static void
quantile_needs_samples(void)
{
	static const struct {
		unsigned permille;
		size_t least;
	} needs[] = {{500, 2}, {900, 10}, {990, 100}, {999, 1000}};
	static int64_t values[1000];

	for (size_t i = 0; i < 1000; i++)
		values[i] = (int64_t)i + 1;
	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(stat_quantile(values, needs[i].least - 1, needs[i].permille).known,
			false);
		CHECK_KNOWN(stat_quantile(values, needs[i].least, needs[i].permille),
			(int64_t)(needs[i].least * needs[i].permille / 1000));
	}
	CHECK_INT(stat_quantile(values, 0, 500).known, false);
}

static void
mean_is_exact(void)
{
	static const int64_t large[] = {INT64_MAX, INT64_MAX, INT64_MAX - 3};
	static const int64_t small[] = {1, 2, 2, 1};

	CHECK_KNOWN(stat_mean(large, 3), INT64_MAX - 1);
	CHECK_KNOWN(stat_mean(large, 2), INT64_MAX);
	CHECK_KNOWN(stat_mean(small, 4), 2); /* 1.5 rounds up */
	CHECK_KNOWN(stat_mean(small, 1), 1);
	CHECK_KNOWN(stat_mean((const int64_t[]){1, 1, 2}, 3), 1);
	CHECK_INT(stat_mean(small, 0).known, false);
}

static void
stddev_is_of_a_sample(void)
{
	static const int64_t values[] = {2, 4, 4, 4, 5, 5, 7, 9};
	int64_t far[8];

	for (size_t i = 0; i < 8; i++)
		far[i] = values[i] * 100 + INT64_C(1000000000000000);
	CHECK_KNOWN(stat_stddev(values, 8), 2); /* 2.138 */
	CHECK_KNOWN(stat_stddev(far, 8), 214);
	CHECK_KNOWN(stat_stddev(values + 1, 3), 0);
	CHECK_INT(stat_stddev(values, 1).known, false);
}

static void
pool_sorts_and_remembers_repeats(void)
{
	static const int64_t in[] = {5, 1, 3, 2, 5}, out[] = {1, 2, 3, 5, 5};
	static const int64_t from[] = {0, 1, 0, 0, 1};
	struct stat_pool pool = {0};
	struct stat_sorted sorted;

	for (size_t i = 0; i < 5; i++) {
		stat_pool_add(&pool, in[i]);
		if (i == 2) {
			stat_pool_end_repeat(&pool);
			stat_pool_end_repeat(&pool); /* an empty one does not count */
		}
	}
	stat_pool_end_repeat(&pool);
	stat_pool_add(&pool, 99); /* of a repeat that never ended */
	sorted = stat_pool_sort(&pool);
	CHECK_INT(sorted.count, 5);
	CHECK_INT(sorted.repeats, 2);
	for (size_t i = 0; i < 5; i++) {
		CHECK_INT(sorted.values[i], out[i]);
		CHECK_INT(sorted.repeat[i], from[i]);
	}
	stat_sorted_free(&sorted);
	stat_pool_free(&pool);
}

static void
summary_of_a_ramp(void)
{
	struct stat_pool pool = ramp(1000);
	struct stat_summary s;

	stat_summarize(&pool, 1, "ramp", &s);
	CHECK_INT(s.n, 1000);
	CHECK_KNOWN(s.min, 1);
	CHECK_KNOWN(s.mean, 501);   /* 500.5 */
	CHECK_KNOWN(s.stddev, 289); /* sqrt(1000 * 1001 / 12) = 288.8 */
	CHECK_KNOWN(s.p50, 500);
	CHECK_KNOWN(s.p90, 900);
	CHECK_KNOWN(s.p99, 990);
	CHECK_KNOWN(s.p999, 999);
	CHECK_KNOWN(s.max, 1000);
	CHECK_BETWEEN(s.p50_lo.value, 455, 482); /* 500 - 1.96 x sqrt(1000)/2 = 469 */
	CHECK_BETWEEN(s.p50_hi.value, 518, 545);
	CHECK_KNOWN(stat_median(&pool), 500);
	stat_pool_free(&pool);
}

static void
summary_of_little(void)
{
	struct stat_pool pool = {0};
	struct stat_summary s;

	stat_summarize(&pool, 1, "none", &s);
	CHECK_INT(s.n, 0);
	CHECK_INT(
		s.min.known || s.mean.known || s.p50.known || s.p50_lo.known || s.max.known, 0);
	pool = ramp(1);
	stat_summarize(&pool, 1, "one", &s);
	CHECK_INT(s.n, 1);
	CHECK_KNOWN(s.mean, 1);
	CHECK_INT(s.p50.known || s.p50_hi.known || s.stddev.known, 0);
	stat_pool_free(&pool);
}

static void
interval_is_repeatable(void)
{
	for (size_t count = 50; count <= 5000; count *= 100) {
		struct stat_pool pool = ramp(count);
		struct stat_summary a, b, c;

		stat_summarize(&pool, 7, "x", &a);
		stat_summarize(&pool, 7, "x", &b);
		stat_summarize(&pool, 8, "x", &c);
		CHECK_INT(memcmp(&a, &b, sizeof(a)), 0);
		CHECK_INT(a.p50.value, c.p50.value);
		CHECK_BETWEEN((double)c.p50_lo.value / (double)a.p50_lo.value, 0.9, 1.1);
		stat_pool_free(&pool);
	}
}

/* The numbers themselves, so that a change of the algorithm is a decision and not an accident.
 */
static void
interval_is_the_same_everywhere(void)
{
	struct stat_pool pool = ramp(60);
	struct stat_summary s;

	stat_summarize(&pool, 1, "golden", &s);
	CHECK_KNOWN(s.p50_lo, 23);
	CHECK_KNOWN(s.p50_hi, 38);
	stat_pool_free(&pool);
	pool = ramp(2000);
	stat_summarize(&pool, 1, "golden", &s);
	CHECK_KNOWN(s.p50_lo, 955);
	CHECK_KNOWN(s.p50_hi, 1048);
	stat_pool_free(&pool);
}

static double
normal(struct rng *rng)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += rng_unit(rng);
	return sum;
}

/* How often, of `trials`, the interval holds the true median of samples made of a repeat's
 * shift and each sample's own noise. */
static double
coverage(int trials, size_t repeats, size_t samples, double shift, double noise)
{
	struct rng rng;
	int held = 0;

	rng_seed(&rng, 3, samples);
	for (int t = 0; t < trials; t++) {
		struct stat_pool pool = {0};
		struct stat_summary s;

		for (size_t r = 0; r < repeats; r++) {
			double here = 1e6 + shift * normal(&rng);

			for (size_t i = 0; i < samples; i++)
				stat_pool_add(&pool, (int64_t)(here + noise * normal(&rng)));
			stat_pool_end_repeat(&pool);
		}
		stat_summarize(&pool, (uint64_t)t, "coverage", &s);
		held += s.p50_lo.value <= 1000000 && s.p50_hi.value >= 1000000;
		stat_pool_free(&pool);
	}
	return (double)held / trials;
}

static void
interval_holds_the_median(void)
{
	/* One repeat: the plain bootstrap, both by drawing and by bisection. */
	CHECK_BETWEEN(coverage(400, 1, 101, 0, 1000), 0.91, 0.99);
	CHECK_BETWEEN(coverage(400, 1, 500, 0, 1000), 0.91, 0.99);
	/* Repeats that do not matter: wider than needed, never narrower. */
	CHECK_BETWEEN(coverage(400, 5, 20, 0, 1000), 0.95, 1);
	CHECK_BETWEEN(coverage(400, 5, 100, 0, 1000), 0.95, 1);
	/* Repeats that are all that matters, as bootstrap.h says. */
	CHECK_BETWEEN(coverage(400, 5, 100, 1000, 1000), 0.78, 0.94);
	CHECK_BETWEEN(coverage(400, 20, 20, 1000, 100), 0.88, 0.99);
}

/* What bootstrap.h describes, without its short cut. */
static void
plain_interval(const struct stat_pool *pool, int64_t *low, int64_t *high)
{
	enum { ROUNDS = 1000 };
	struct stat_pool medians = {0};
	struct stat_sorted sorted;
	struct rng rng;

	rng_seed(&rng, 11, 0);
	for (int round = 0; round < ROUNDS; round++) {
		struct stat_pool drawn = {0};

		for (size_t i = 0; i < pool->repeats; i++) {
			size_t r = (size_t)rng_below(&rng, pool->repeats);
			size_t start = r ? pool->ends[r - 1] : 0, size = pool->ends[r] - start;

			for (size_t k = 0; k < size; k++)
				stat_pool_add(
					&drawn, pool->values[start + rng_below(&rng, size)]);
		}
		stat_pool_end_repeat(&drawn);
		stat_pool_add(&medians, stat_median(&drawn).value);
		stat_pool_free(&drawn);
	}
	stat_pool_end_repeat(&medians);
	sorted = stat_pool_sort(&medians);
	*low = stat_quantile(sorted.values, ROUNDS, 25).value;
	*high = stat_quantile(sorted.values, ROUNDS, 976).value;
	stat_sorted_free(&sorted);
	stat_pool_free(&medians);
}

static void
interval_agrees_with_the_plain_one(void)
{
	static const double shifts[] = {0, 300, 3000};
	struct rng rng;

	rng_seed(&rng, 5, 0);
	for (size_t i = 0; i < 3; i++) {
		struct stat_pool pool = {0};
		struct stat_summary s;
		int64_t low, high;

		for (size_t r = 0; r < 5; r++) {
			double here = 1e6 + shifts[i] * normal(&rng);

			for (size_t k = 0; k < 60 + 20 * r; k++)
				stat_pool_add(&pool, (int64_t)(here + 1000 * normal(&rng)));
			stat_pool_end_repeat(&pool);
		}
		stat_summarize(&pool, 1, "agree", &s);
		plain_interval(&pool, &low, &high);
		CHECK_BETWEEN(s.p50_hi.value - s.p50_lo.value, 0.85 * (double)(high - low),
			1.15 * (double)(high - low));
		CHECK_BETWEEN(s.p50_lo.value - low, -0.12 * (double)(high - low),
			0.12 * (double)(high - low));
		stat_pool_free(&pool);
	}
}

static void
counts_are_one_sample_a_repeat(void)
{
	struct stat_pool pool = {0};
	struct stat_summary s;

	for (int r = 0; r < 5; r++) {
		stat_pool_add(&pool, 500);
		stat_pool_end_repeat(&pool);
	}
	stat_summarize(&pool, 1, "connections", &s);
	CHECK_INT(s.n, 5);
	CHECK_KNOWN(s.p50, 500);
	CHECK_KNOWN(s.p50_lo, 500);
	CHECK_KNOWN(s.p50_hi, 500);
	CHECK_KNOWN(s.stddev, 0);
	CHECK_INT(s.p90.known, false);
	stat_pool_free(&pool);
}

/* Many repeats and many samples must not need a table of their product. */
static void
interval_of_very_many(void)
{
	struct stat_pool pool = {0};
	struct stat_summary s;

	for (size_t i = 0; i < 200000; i++) {
		stat_pool_add(&pool, (int64_t)(i * 7919 % 200000));
		if (i % 100 == 99)
			stat_pool_end_repeat(&pool);
	}
	stat_summarize(&pool, 1, "many", &s);
	CHECK_INT(pool.repeats, 2000);
	CHECK_BETWEEN(s.p50_lo.value, 98500, 99999);
	CHECK_BETWEEN(s.p50_hi.value, 99999, 101500);
	stat_pool_free(&pool);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"quantile is nearest rank", quantile_is_nearest_rank},
		{"quantile needs samples", quantile_needs_samples},
		{"mean is exact", mean_is_exact},
		{"stddev is of a sample", stddev_is_of_a_sample},
		{"pool sorts and remembers repeats", pool_sorts_and_remembers_repeats},
		{"summary of a ramp", summary_of_a_ramp},
		{"summary of little", summary_of_little},
		{"interval is repeatable", interval_is_repeatable},
		{"interval is the same everywhere", interval_is_the_same_everywhere},
		{"interval holds the median", interval_holds_the_median},
		{"interval agrees with the plain one", interval_agrees_with_the_plain_one},
		{"counts are one sample a repeat", counts_are_one_sample_a_repeat},
		{"interval of very many", interval_of_very_many},
		CU_TEST_INFO_NULL,
	};

	return check_main("stat", tests);
}
