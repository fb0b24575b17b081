/* Chains: stages joined, order by due time, packets given back; and the packet pool. */
#include "check.h"

#include "base/clock.h"
#include "link/chain.h"

#define MS NS_PER_MS

static struct packet_pool pool;

static void
push(struct chain *chain, int64_t now_ns)
{
	struct packet *packet = packet_take(&pool);

	packet->len = 100;
	chain_push(chain, packet, now_ns);
}

static size_t
free_packets(void)
{
	size_t count = 0;

	for (struct packet *packet = pool.free; packet; packet = packet->next)
		count++;
	return count;
}

static void
test_empty_chain_is_a_wire(void)
{
	struct chain *chain = chain_new(&pool, 1, UP);
	struct packet *packet;

	push(chain, 5);
	packet = chain_pop(chain, 5);
	CU_ASSERT_PTR_NOT_NULL_FATAL(packet);
	CHECK_INT(packet->due_ns, 5);
	packet_give_back(&pool, packet);
	chain_free(chain);
}

static void
test_ten_stages_add_up(void)
{
	struct impairment path = {.delay_ns = 10 * MS};
	struct chain *chains[DIRECTIONS];
	int64_t now_ns = 1234;

	/* There and back through ten stages of 10 ms each: 200 ms, to the nanosecond. */
	for (enum direction i = UP; i < DIRECTIONS; i++) {
		struct packet *packet;

		chains[i] = chain_new(&pool, 1, i);
		for (int stage = 0; stage < 10; stage++)
			chain_add(chains[i], &stage_delay, &path);
		push(chains[i], now_ns);
		now_ns = chain_next_due(chains[i]);
		packet = chain_pop(chains[i], now_ns);
		CU_ASSERT_PTR_NOT_NULL_FATAL(packet);
		packet_give_back(&pool, packet);
		chain_free(chains[i]);
	}
	CHECK_INT(now_ns, 1234 + 200 * MS);
}

/* Does the first packet survive ten stages that each lose half? */
static int
survives(uint64_t seed)
{
	struct impairment path = {.loss_ppm = 500000};
	struct chain *chain = chain_new(&pool, seed, UP);
	int lost;

	for (int stage = 0; stage < 10; stage++)
		chain_add(chain, &stage_loss, &path);
	push(chain, 0);
	lost = (int)chain_counters(chain)->lost;
	chain_free(chain);
	return !lost;
}

static void
test_ten_losses_are_independent(void)
{
	int survivors = 0;

	/* One in 1024 does; were the stages to draw the same numbers, one in two. */
	for (uint64_t seed = 1; seed <= 2000; seed++)
		survivors += survives(seed);
	CHECK_BETWEEN(survivors, 0, 10);
}

/* A stage that reorders: every other packet is sent ahead. */
static bool
always(const struct impairment *path)
{
	(void)path;
	return true;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	(void)path;
	(void)rng;
	*(int *)state = 0;
}

static void
swap(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	int *count = state;

	outlet_send(out, packet, now_ns + ((*count)++ % 2 ? 0 : 10));
}

static const struct stage_ops stage_swap = {.name = "swap",
	.state_size = sizeof(int),
	.wanted = always,
	.start = start,
	.pass = swap};

static void
test_due_order(void)
{
	static const int64_t expected[] = {1, 3, 5, 10, 12, 14};
	struct impairment path = {0};
	struct chain *chain = chain_new(&pool, 1, UP);

	chain_add(chain, &stage_swap, &path);
	for (int i = 0; i < 6; i++)
		push(chain, i);
	for (int i = 0; i < 6; i++) {
		struct packet *packet = chain_pop(chain, 100);

		CU_ASSERT_PTR_NOT_NULL_FATAL(packet);
		CHECK_INT(packet->due_ns, expected[i]);
		packet_give_back(&pool, packet);
	}
	CU_ASSERT_PTR_NULL(chain_pop(chain, 100));
	chain_free(chain);
}

static void
test_nothing_leaks(void)
{
	struct impairment path = {
		.delay_ns = MS, .loss_ppm = 200000, .rate_bps = 1000000, .limit_packets = 50};
	struct chain *chain = chain_new(&pool, 1, UP);
	size_t blocks;

	chain_add_path(chain, &path);
	packet_pool_reserve(&pool, 1000);
	blocks = pool.block_count;
	for (int round = 0; round < 100; round++) {
		struct packet *packet;

		for (int i = 0; i < 100; i++)
			push(chain, round * 10 * MS);
		for (int i = 0; i < 20 && (packet = chain_pop(chain, INT64_MAX)); i++)
			packet_give_back(&pool, packet);
	}
	CHECK_BETWEEN(chain_counters(chain)->dropped, 1, 10000);
	chain_free(chain); /* with packets still in it */
	CHECK_INT(pool.block_count, blocks);
	CHECK_INT(free_packets(), blocks * 256);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"an empty chain is a wire", test_empty_chain_is_a_wire},
		{"ten stages add up", test_ten_stages_add_up},
		{"ten losses are independent", test_ten_losses_are_independent},
		{"due order", test_due_order},
		{"nothing leaks", test_nothing_leaks},
		CU_TEST_INFO_NULL,
	};
	int status = check_main("link_chain", tests);

	packet_pool_free(&pool);
	return status;
}
