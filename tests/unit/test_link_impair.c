/* Bursts, duplicates, corruption, reordering and the spread of delays: their statistics and
 * what they leave alone. Bands hold 99.9% of what chance does, for one fixed seed. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "impair.h"
#include "link/spread.h"

#define MS NS_PER_MS
#define PACKETS 100000
#define BILLION INT64_C(1000000000)

/* Which of PACKETS packets are lost. */
static void
lose(const struct impairment *path, uint64_t seed, char lost[static PACKETS])
{
	struct chain *chain = chain_of(path, seed);
	int64_t due_ns, number;

	memset(lost, 1, PACKETS);
	for (uint32_t i = 0; i < PACKETS; i++) {
		push(chain, i, 100, i);
		if ((number = pop(chain, &due_ns)) >= 0)
			lost[number] = 0;
	}
	chain_free(chain);
}

/* Runs of lost packets, by length (those of 20 and more together). */
static int64_t
count_runs(const char lost[static PACKETS], int64_t runs[static 21])
{
	int64_t total = 0;
	int run = 0;

	memset(runs, 0, 21 * sizeof(*runs));
	for (int i = 0; i < PACKETS; i++) {
		total += lost[i];
		if (lost[i]) {
			run++;
		} else if (run) {
			runs[run < 20 ? run : 20]++;
			run = 0;
		}
	}
	return total;
}

static void
test_burst_lengths(void)
{
	/* 2% lost, in bursts of 4 in the mean: r = 1/4, p = 0.02 / 0.98 / 4. */
	static const struct impairment path = {
		.loss_ppm = 20000,
		.bursts = true,
		.gemodel = {.to_bad_ppb = 5102041,
			.to_good_ppb = 250000000,
			.bad_loss_ppb = BILLION},
	};
	static char lost[PACKETS];
	int64_t runs[21], bursts = 0, total;

	lose(&path, 3, lost);
	total = count_runs(lost, runs);
	for (int i = 1; i <= 20; i++)
		bursts += runs[i];
	/* Correlation makes the variance of the share (2 - r) / r = 7 times that of a coin. */
	CHECK_BETWEEN(total, 2000 - 390, 2000 + 390);
	CHECK_BETWEEN((double)total / (double)bursts, 3.5, 4.5);
	/* Geometric: a quarter of one packet, a quarter of the others of two … */
	CHECK_BETWEEN((double)runs[1] / (double)bursts, 0.25 - 0.065, 0.25 + 0.065);
	CHECK_BETWEEN((double)runs[2] / (double)bursts, 0.1875 - 0.06, 0.1875 + 0.06);
	CHECK_BETWEEN((double)runs[3] / (double)bursts, 0.1406 - 0.055, 0.1406 + 0.055);
}

static void
test_gemodel_states(void)
{
	/* Half the time in each, for ten packets; one loses 80%, the other 1%. */
	static const struct impairment path = {
		.bursts = true,
		.gemodel = {.to_bad_ppb = 100000000,
			.to_good_ppb = 100000000,
			.bad_loss_ppb = 800000000,
			.good_loss_ppb = 10000000},
	};
	static char lost[PACKETS];
	int64_t runs[21], total, pairs = 0;

	lose(&path, 1, lost);
	total = count_runs(lost, runs);
	CHECK_BETWEEN(total, 40500 - 1400, 40500 + 1400);
	/* The next one meets the same state 9 times in 10: P(lost, lost) = 0.28885. */
	for (int i = 1; i < PACKETS; i++)
		pairs += lost[i] && lost[i - 1];
	CHECK_BETWEEN(pairs, 28885 - 1300, 28885 + 1300);
}

static void
test_gemodel_starts_good(void)
{
	/* Strictly in turns: the state a packet meets decides, then it changes. */
	static const struct impairment path = {
		.bursts = true,
		.gemodel = {.to_bad_ppb = BILLION,
			.to_good_ppb = BILLION,
			.bad_loss_ppb = BILLION},
	};
	static char lost[PACKETS];

	lose(&path, 1, lost);
	for (int i = 0; i < 100; i++)
		CHECK_INT(lost[i], i % 2);
}

static void
test_duplicates(void)
{
	const struct impairment path = {.duplicate_ppm = 100000, .delay_ns = MS};
	struct chain *chain = chain_of(&path, 1);
	int64_t due_ns = 0, copies = 0;

	for (uint32_t i = 0; i < 10000; i++) {
		int64_t now_ns = i * MS * 10;

		push(chain, i, 100, now_ns);
		CHECK_INT(pop(chain, &due_ns), i);
		CHECK_INT(due_ns, now_ns + MS);
		if (chain_next_due(chain) == INT64_MAX)
			continue;
		CHECK_INT(pop(chain, &due_ns), i);
		CHECK_INT(due_ns, now_ns + MS);
		copies++;
	}
	CHECK_BETWEEN(copies, 1000 - 99, 1000 + 99);
	CHECK_INT(chain_counters(chain)->duplicated, copies);
	CHECK_INT(chain_counters(chain)->packets, 10000);
	chain_free(chain);
}

static void
test_copies_take_part(void)
{
	/* Each with its copy: both are serialised, and both count for the limit. */
	const struct impairment path = {
		.duplicate_ppm = 1000000, .rate_bps = 8000000, .limit_packets = 3};
	struct chain *chain = chain_of(&path, 1);
	int64_t due_ns = 0;

	push(chain, 1, 1000, 0);
	push(chain, 2, 1000, 0);
	CHECK_INT(chain_counters(chain)->dropped, 1);
	for (int64_t i = 1; i <= 3; i++) {
		CHECK_INT(pop(chain, &due_ns), i < 3 ? 1 : 2);
		CHECK_INT(due_ns, i * MS);
	}
	chain_free(chain);
}

static int
bits(const uint8_t *data, size_t len)
{
	int count = 0;

	for (size_t i = 0; i < len * 8; i++)
		count += data[i / 8] >> i % 8 & 1;
	return count;
}

static void
test_corruption(void)
{
	const struct impairment path = {.corrupt_ppm = 100000};
	struct chain *chain = chain_of(&path, 1);
	int64_t hits = 0, first_half = 0;

	for (int i = 0; i < 10000; i++) {
		struct packet *packet;

		push(chain, 0, 100, i);
		packet = chain_pop(chain, i);
		CU_ASSERT_PTR_NOT_NULL_FATAL(packet);
		CHECK_INT(bits(packet->data, 100), !!(packet->marks & PACKET_CORRUPTED));
		hits += bits(packet->data, 100);
		first_half += bits(packet->data, 50);
		packet_give_back(&pool, packet);
	}
	CHECK_BETWEEN(hits, 1000 - 99, 1000 + 99);
	CHECK_BETWEEN(first_half, (double)hits / 2 - 55, (double)hits / 2 + 55);
	CHECK_INT(chain_counters(chain)->corrupted, hits);
	chain_free(chain);
}

/* An Ethernet frame may hold nothing. */
static void
test_corruption_of_nothing(void)
{
	const struct impairment path = {.corrupt_ppm = 1000000};
	struct chain *chain = chain_of(&path, 1);
	struct packet *packet;

	push(chain, 0, 0, 0);
	packet = chain_pop(chain, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(packet);
	CHECK_INT(packet->marks & PACKET_CORRUPTED, 0);
	packet_give_back(&pool, packet);
	chain_free(chain);
}

/* How many of `count` packets are sent ahead; *least is the shortest way from one to the next.
 */
static int64_t
overtakers(int64_t ppm, int64_t gap, uint32_t count, int64_t *first, int64_t *least)
{
	const struct impairment path = {
		.delay_ns = 10 * MS, .reorder_ppm = ppm, .reorder_gap = gap};
	struct chain *chain = chain_of(&path, 1);
	int64_t due_ns, number, ahead = 0, last = -1;

	*least = INT64_MAX;
	for (uint32_t i = 0; i < count; i++) {
		push(chain, i, 100, i * MS);
		while ((number = pop_until(chain, i * MS, &due_ns)) >= 0) {
			if (due_ns != number * MS)
				continue;
			if (last < 0)
				*first = number;
			else if (number - last < *least)
				*least = number - last;
			last = number;
			ahead++;
		}
	}
	CHECK_INT(chain_counters(chain)->reordered, ahead);
	chain_free(chain);
	return ahead;
}

static void
test_reorder_gap(void)
{
	int64_t first = -1, least;

	CHECK_INT(overtakers(1000000, 1, 1000, &first, &least), 1000);
	CHECK_INT(first, 0);
	CHECK_INT(least, 1);
	/* Every fifth, from the fifth on. */
	CHECK_INT(overtakers(1000000, 5, 1000, &first, &least), 200);
	CHECK_INT(first, 4);
	CHECK_INT(least, 5);
	CHECK_BETWEEN(overtakers(250000, 1, 10000, &first, &least), 2500 - 143, 2500 + 143);
	/* Four for certain the long way, then each with 1/4: one in 4 + 4. */
	CHECK_BETWEEN(overtakers(250000, 5, 10000, &first, &least), 1250 - 51, 1250 + 51);
	CHECK_INT(least, 5);
}

static void
test_overtaking_skips_the_rate(void)
{
	/* Every other one: it takes no time on the wire, and the others do. */
	const struct impairment path = {.delay_ns = 10 * MS,
		.reorder_ppm = 1000000,
		.reorder_gap = 2,
		.rate_bps = 8000000};
	struct chain *chain = chain_of(&path, 1);
	static const int64_t numbers[] = {1, 3, 0, 2}, due[] = {0, 0, 11, 12};
	int64_t due_ns = 0;

	for (uint32_t i = 0; i < 4; i++)
		push(chain, i, 1000, 0);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(pop(chain, &due_ns), numbers[i]);
		CHECK_INT(due_ns, due[i] * MS);
	}
	chain_free(chain);
}

/* Mean and standard deviation of 100,000 delays, and how many are 0. */
static void
delays(const struct impairment *path, double *mean, double *variance, int64_t *zeros)
{
	struct chain *chain = chain_of(path, 1);
	double sum = 0, squares = 0;
	int64_t due_ns = 0;

	*zeros = 0;
	for (int64_t i = 0; i < PACKETS; i++) {
		push(chain, 0, 100, i * NS_PER_S);
		pop(chain, &due_ns);
		due_ns -= i * NS_PER_S;
		*zeros += due_ns == 0;
		sum += (double)due_ns / MS;
		squares += (double)due_ns / MS * (double)due_ns / MS;
	}
	*mean = sum / PACKETS;
	*variance = squares / PACKETS - *mean * *mean;
	chain_free(chain);
}

/* Of a table, in units of sigma. */
static void
moments(const struct spread *table, double *mean, double *variance)
{
	double sum = 0, squares = 0;

	for (int k = 0; k < SPREAD_COUNT; k++) {
		double x = (double)table->values[k] / SPREAD_SCALE;

		sum += x;
		squares += x * x;
	}
	*mean = sum / SPREAD_COUNT;
	*variance = squares / SPREAD_COUNT - *mean * *mean;
}

static void
test_distributions(void)
{
	/* What each is known for: a normal one has sigma 1, a Pareto one a long tail upwards.
	 */
	static const double sigma[] = {0, 1, 0.83, 0.83};

	for (int d = DISTRIBUTION_NORMAL; d <= DISTRIBUTION_PARETONORMAL; d++) {
		const struct impairment path = {.delay_ns = 100 * MS,
			.jitter_ns = 10 * MS,
			.distribution = (enum distribution)d};
		double mean, variance, table_mean, table_variance;
		int64_t zeros;

		moments(spread_of(path.distribution), &table_mean, &table_variance);
		CHECK_BETWEEN(table_mean, -0.06, 0.01);
		CHECK_BETWEEN(
			table_variance, sigma[d] * sigma[d] * 0.9, sigma[d] * sigma[d] * 1.1);
		delays(&path, &mean, &variance, &zeros);
		CHECK_BETWEEN(mean, 100 + 10 * table_mean - 0.11, 100 + 10 * table_mean + 0.11);
		CHECK_BETWEEN(
			variance, 100 * table_variance * 0.93, 100 * table_variance * 1.07);
		CHECK_INT(zeros, 0);
	}
}

static void
test_no_delay_below_zero(void)
{
	/* A normal one as wide as it is long: one in 6.3 would be negative. */
	const struct impairment path = {
		.delay_ns = 10 * MS, .jitter_ns = 10 * MS, .distribution = DISTRIBUTION_NORMAL};
	double mean, variance;
	int64_t zeros;

	delays(&path, &mean, &variance, &zeros);
	CHECK_BETWEEN(zeros, 15866 - 385, 15866 + 385);
}

static void
test_order(void)
{
	struct impairment path = {
		.delay_ns = 10 * MS, .jitter_ns = 10 * MS, .distribution = DISTRIBUTION_PARETO};
	struct chain *chain = chain_of(&path, 1);
	int64_t due_ns = 0, last = -1, number, disorder = 0;

	for (uint32_t i = 0; i < 1000; i++)
		push(chain, i, 100, i * MS / 10);
	for (int64_t i = 0; i < 1000; i++)
		CHECK_INT(pop(chain, &due_ns), i);
	chain_free(chain);
	/* A link that reorders has no order to keep, for jitter either. */
	path.reorder_ppm = 1;
	path.reorder_gap = 1;
	chain = chain_of(&path, 1);
	for (uint32_t i = 0; i < 1000; i++)
		push(chain, i, 100, i * MS / 10);
	while ((number = pop(chain, &due_ns)) >= 0) {
		disorder += number < last;
		last = number;
	}
	CHECK_BETWEEN(disorder, 300, 600);
	chain_free(chain);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"burst lengths", test_burst_lengths},
		{"gemodel: both states", test_gemodel_states},
		{"gemodel: starts good", test_gemodel_starts_good},
		{"duplicates", test_duplicates},
		{"copies take part", test_copies_take_part},
		{"corruption", test_corruption},
		{"corruption of nothing", test_corruption_of_nothing},
		{"reorder and gap", test_reorder_gap},
		{"overtaking skips the rate", test_overtaking_skips_the_rate},
		{"distributions", test_distributions},
		{"no delay below zero", test_no_delay_below_zero},
		{"order", test_order},
		CU_TEST_INFO_NULL,
	};
	int status = check_main("link_impair", tests);

	packet_pool_free(&pool);
	return status;
}
