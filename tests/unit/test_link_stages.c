/* Each impairment stage by itself, on a clock that only the test moves. */
#include "check.h"

#include <stdlib.h>

#include "base/clock.h"
#include "link/chain.h"

#define MS NS_PER_MS

static struct packet_pool pool;

static struct chain *
chain_of(const struct impairment *path, uint64_t seed, enum direction direction)
{
	struct chain *chain = chain_new(&pool, seed, direction);

	chain_add_path(chain, path);
	return chain;
}

/* A packet of `len` bytes that carries `number`. */
static void
push(struct chain *chain, uint32_t number, uint32_t len, int64_t now_ns)
{
	struct packet *packet = packet_take(&pool);

	packet->len = len;
	memcpy(packet->data, &number, sizeof(number));
	chain_push(chain, packet, now_ns);
}

/* The next packet whenever it is due: its number, -1 if there is none. */
static int64_t
pop(struct chain *chain, int64_t *due_ns)
{
	struct packet *packet = chain_pop(chain, INT64_MAX);
	uint32_t number;

	if (!packet)
		return -1;
	memcpy(&number, packet->data, sizeof(number));
	*due_ns = packet->due_ns;
	packet_give_back(&pool, packet);
	return number;
}

static void
test_delay(void)
{
	struct impairment path = {.delay_ns = 25 * MS};
	struct chain *chain = chain_of(&path, 1, UP);
	int64_t due_ns = 0;

	push(chain, 7, 100, 3 * MS);
	CHECK_INT(chain_next_due(chain), 28 * MS);
	CU_ASSERT_PTR_NULL(chain_pop(chain, 28 * MS - 1));
	CHECK_INT(pop(chain, &due_ns), 7);
	CHECK_INT(due_ns, 28 * MS);
	CHECK_INT(chain_next_due(chain), INT64_MAX);
	chain_free(chain);
}

static void
test_jitter_is_bounded_and_centred(void)
{
	struct impairment path = {.delay_ns = 10 * MS, .jitter_ns = 5 * MS};
	struct chain *chain = chain_of(&path, 1, UP);
	int64_t due_ns = 0, sum_ns = 0, low_ns = INT64_MAX, high_ns = 0;

	/* So far apart that order needs no keeping. */
	for (int64_t i = 0; i < 10000; i++) {
		push(chain, 0, 100, i * 100 * MS);
		pop(chain, &due_ns);
		due_ns -= i * 100 * MS;
		sum_ns += due_ns;
		low_ns = due_ns < low_ns ? due_ns : low_ns;
		high_ns = due_ns > high_ns ? due_ns : high_ns;
	}
	CHECK_BETWEEN(low_ns, 5 * MS, 5.02 * MS);
	CHECK_BETWEEN(high_ns, 14.98 * MS, 15 * MS);
	CHECK_BETWEEN(sum_ns / 10000, 9.88 * MS, 10.12 * MS); /* 4 standard errors */
	chain_free(chain);
}

static void
test_jitter_keeps_order(void)
{
	struct impairment path = {.delay_ns = 10 * MS, .jitter_ns = 10 * MS};
	struct chain *chain = chain_of(&path, 1, UP);
	int64_t due_ns = 0, last_ns = 0;

	for (uint32_t i = 0; i < 1000; i++)
		push(chain, i, 100, i * MS / 10);
	for (int64_t i = 0; i < 1000; i++) {
		CHECK_INT(pop(chain, &due_ns), i);
		CU_ASSERT(due_ns >= last_ns);
		CU_ASSERT(due_ns >= i * MS / 10);
		last_ns = due_ns;
	}
	chain_free(chain);
}

/* How many of `count` packets are lost. */
static int64_t
losses(uint64_t seed, int64_t count, int64_t ppm)
{
	struct impairment path = {.loss_ppm = ppm};
	struct chain *chain = chain_of(&path, seed, UP);
	int64_t due_ns = 0, lost;

	for (int64_t i = 0; i < count; i++) {
		push(chain, 0, 100, i);
		pop(chain, &due_ns);
	}
	lost = chain_counters(chain)->lost;
	CHECK_INT(chain_counters(chain)->packets, count);
	CHECK_INT(chain_counters(chain)->dropped, 0);
	chain_free(chain);
	return lost;
}

static void
test_loss_bands(void)
{
	int outside = 0;

	/* Each band holds 99.9% of seeds: of 300 trials, 3 outside would be a rare accident. */
	for (uint64_t seed = 1; seed <= 100; seed++) {
		int64_t a = losses(seed, 1000, 50000), b = losses(seed, 10000, 10000),
			c = losses(seed, 100, 100000);

		outside += a < 29 || a > 74;
		outside += b < 69 || b > 134;
		outside += c < 2 || c > 21;
	}
	CHECK_BETWEEN(outside, 0, 3);
	CHECK_INT(losses(1, 1000, 0), 0);
	CHECK_INT(losses(1, 1000, 1000000), 1000);
}

static void
loss_pattern(uint64_t seed, enum direction direction, int64_t gap_ns, char lost[static 1000])
{
	struct impairment path = {.loss_ppm = 100000,
		.delay_ns = MS,
		.rate_bps = 10000000,
		.limit_packets = 1000};
	struct chain *chain = chain_of(&path, seed, direction);
	int64_t due_ns = 0, number;

	memset(lost, 1, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		push(chain, i, 100, i * gap_ns);
	while ((number = pop(chain, &due_ns)) >= 0)
		lost[number] = 0;
	chain_free(chain);
}

static void
test_same_seed_same_losses(void)
{
	char a[1000], b[1000];

	loss_pattern(5, UP, MS, a);
	loss_pattern(5, UP, 3, b); /* timing has no say */
	CU_ASSERT(!memcmp(a, b, 1000));
	loss_pattern(6, UP, MS, b);
	CU_ASSERT(memcmp(a, b, 1000) != 0);
	loss_pattern(5, DOWN, MS, b);
	CU_ASSERT(memcmp(a, b, 1000) != 0);
}

static void
test_rate_spacing(void)
{
	struct impairment path = {.rate_bps = 10000000, .delay_ns = MS};
	struct chain *chain = chain_of(&path, 1, UP);
	int64_t due_ns = 0;

	/* 1500 bytes at 10 Mbit/s take 1.2 ms. */
	for (uint32_t i = 0; i < 3; i++)
		push(chain, i, 1500, 0);
	for (int64_t i = 0; i < 3; i++) {
		CHECK_INT(pop(chain, &due_ns), i);
		CHECK_INT(due_ns, MS + (i + 1) * 1200 * NS_PER_US);
	}
	/* After a pause it starts afresh. */
	push(chain, 3, 1500, 100 * MS);
	pop(chain, &due_ns);
	CHECK_INT(due_ns, 100 * MS + MS + 1200 * NS_PER_US);
	chain_free(chain);
}

static void
test_rate_does_not_round(void)
{
	struct impairment path = {.rate_bps = INT64_C(10000000000), .limit_packets = 20000};
	struct chain *chain = chain_of(&path, 1, UP);
	int64_t due_ns = 0;

	/* 64 bytes at 10 Gbit/s take 51.2 ns: 10,000 of them 512 us, not 510. */
	for (uint32_t i = 0; i < 10000; i++)
		push(chain, i, 64, 0);
	while (pop(chain, &due_ns) >= 0)
		;
	CHECK_INT(due_ns, 512 * NS_PER_US);
	chain_free(chain);
}

static void
test_queue_drops_the_newest(void)
{
	struct impairment path = {.rate_bps = 10000000, .limit_packets = 10};
	struct chain *chain = chain_of(&path, 1, UP);
	int64_t due_ns = 0;

	for (uint32_t i = 0; i < 25; i++)
		push(chain, i, 1500, 0);
	CHECK_INT(chain_counters(chain)->dropped, 15);
	CHECK_INT(chain_counters(chain)->lost, 0);
	for (int64_t i = 0; i < 10; i++)
		CHECK_INT(pop(chain, &due_ns), i);
	CHECK_INT(pop(chain, &due_ns), -1);
	/* What was dropped took no time on the wire. */
	push(chain, 99, 1500, due_ns);
	CHECK_INT(chain_next_due(chain), due_ns + 1200 * NS_PER_US);
	chain_free(chain);
}

static void
test_default_queue_holds_the_delay(void)
{
	struct impairment path = {.delay_ns = 25 * MS};
	struct chain *chain = chain_of(&path, 1, UP);

	/* 25 ms of full packets at 10 Gbit/s. */
	for (uint32_t i = 0; i < 20833; i++)
		push(chain, i, 1500, i * INT64_C(1200));
	CHECK_INT(chain_counters(chain)->dropped, 0);
	chain_free(chain);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"delay", test_delay},
		{"jitter is bounded and centred", test_jitter_is_bounded_and_centred},
		{"jitter keeps order", test_jitter_keeps_order},
		{"loss bands", test_loss_bands},
		{"same seed, same losses", test_same_seed_same_losses},
		{"rate spacing", test_rate_spacing},
		{"rate does not round", test_rate_does_not_round},
		{"the queue drops the newest", test_queue_drops_the_newest},
		{"the default queue holds the delay", test_default_queue_holds_the_delay},
		CU_TEST_INFO_NULL,
	};
	int status = check_main("link_stages", tests);

	packet_pool_free(&pool);
	return status;
}
