/* What hangs on time: queues bounded in bytes, traces, and changes of a link. */
#include "check.h"

#include <stdlib.h>

#include "base/clock.h"
#include "impair.h"
#include "link/timeline.h"
#include "link/trace.h"

#define MS NS_PER_MS
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
test_queue_bytes(void)
{
	/* 3000 bytes: three full packets would be 4500. A byte takes 1 us. */
	const struct impairment path = {
		.rate_bps = 8000000, .queue_bytes = 3000, .limit_packets = 1000};
	struct chain *chain = chain_of(&path, 1);
	int64_t due_ns = 0;

	push(chain, 0, 1500, 0);
	push(chain, 1, 1500, 0);
	push(chain, 2, 1500, 0);
	CHECK_INT(chain_counters(chain)->dropped, 1);
	push(chain, 3, 1, 0); /* full to the byte */
	CHECK_INT(chain_counters(chain)->dropped, 2);
	/* Room for what has been sent meanwhile, and no more. */
	push(chain, 4, 101, 100 * NS_PER_US);
	CHECK_INT(chain_counters(chain)->dropped, 3);
	push(chain, 5, 100, 100 * NS_PER_US);
	CHECK_INT(chain_counters(chain)->dropped, 3);
	CHECK_INT(pop(chain, &due_ns), 0);
	CHECK_INT(pop(chain, &due_ns), 1);
	CHECK_INT(pop(chain, &due_ns), 5);
	CHECK_INT(due_ns, 3100 * NS_PER_US);
	CHECK_INT(chain_counters(chain)->lost, 0);
	chain_free(chain);
}

static void
test_queue_bytes_holds_a_mean(void)
{
	const struct impairment path = {
		.rate_bps = 10000000, .queue_bytes = 65536, .limit_packets = 1000};
	struct chain *chain = chain_of(&path, 1);
	int64_t due_ns = 0, sent = 0, longest_ns = 0;

	/* Offered twice what the link takes, for a second: it takes all it can and delays by no
	 * more than the queue, 52.4 ms. */
	for (uint32_t i = 0; i < 2000; i++) {
		int64_t now_ns = i * INT64_C(500000), number;

		push(chain, i, 1250, now_ns);
		while ((number = pop_until(chain, now_ns, &due_ns)) >= 0) {
			int64_t took_ns = due_ns - number * INT64_C(500000);

			sent++;
			longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
		}
	}
	CHECK_BETWEEN(sent, 998, 1000);
	CHECK_BETWEEN(longest_ns, 51 * MS, 52.43 * MS);
	chain_free(chain);
}

/* Deliveries at 0, 10, 10 and 30 ms, then from 30 ms on again. */
static int64_t at_ns[] = {0, 10 * MS, 10 * MS, 30 * MS};
static const struct trace recorded = {at_ns, COUNT(at_ns), 30 * MS};

struct arrival {
	int64_t at_ms;
	uint32_t len;
	int64_t due_ms;
};

static void
check_arrivals(const struct impairment *path, const struct arrival *arrivals, size_t count)
{
	struct chain *chain = chain_of(path, 1);
	int64_t due_ns = 0;

	for (size_t i = 0; i < count; i++)
		push(chain, (uint32_t)i, arrivals[i].len, arrivals[i].at_ms * MS);
	for (size_t i = 0; i < count; i++) {
		CHECK_INT(pop(chain, &due_ns), i);
		CHECK_INT(due_ns, arrivals[i].due_ms * MS);
	}
	chain_free(chain);
}

static void
test_trace_full_packets(void)
{
	static const struct impairment path = {.trace = &recorded, .limit_packets = 1000};
	/* What is due at the time a packet comes is gone; from 30 ms on it starts again, with
	 * the delivery of 0 ms at once. */
	static const struct arrival arrivals[] = {{0, 1500, 10}, {0, 1500, 10}, {0, 1500, 30},
		{5, 1500, 30}, {5, 1500, 40}, {40, 1500, 60}, {100, 1500, 120},
		{100, 1500, 120}, {305, 1500, 310}};

	check_arrivals(&path, arrivals, COUNT(arrivals));
}

static void
test_trace_shares_and_splits(void)
{
	static const struct impairment path = {.trace = &recorded, .limit_packets = 1000};
	/* 500 and 900 share the first delivery; 200 need 100 of the second as well, which
	 * leaves 1400 of it, too few for 1401. */
	static const struct arrival arrivals[] = {{1, 500, 10}, {1, 900, 10}, {1, 200, 10},
		{1, 1401, 30}, {1, 1499, 30}, {1, 1, 30}};

	check_arrivals(&path, arrivals, COUNT(arrivals));
}

static void
test_trace_with_delay(void)
{
	static const struct impairment path = {
		.trace = &recorded, .delay_ns = 5 * MS, .limit_packets = 1000};
	static const struct arrival arrivals[] = {{1, 1500, 15}, {2, 40, 15}, {20, 1500, 35}};

	check_arrivals(&path, arrivals, COUNT(arrivals));
}

static void
test_trace_queue_bytes(void)
{
	static const struct impairment path = {
		.trace = &recorded, .queue_bytes = 3000, .limit_packets = 1000};
	struct chain *chain = chain_of(&path, 1);
	int64_t due_ns = 0;

	push(chain, 0, 1000, 1 * MS);
	push(chain, 1, 1000, 1 * MS);
	push(chain, 2, 1000, 1 * MS);
	push(chain, 3, 1, 1 * MS); /* full to the byte */
	CHECK_INT(chain_counters(chain)->dropped, 1);
	push(chain, 4, 1500, 10 * MS); /* both deliveries are through */
	push(chain, 5, 1500, 10 * MS);
	push(chain, 6, 1, 10 * MS);
	CHECK_INT(chain_counters(chain)->dropped, 2);
	for (int64_t i = 0; i < 3; i++)
		CHECK_INT(pop(chain, &due_ns), i);
	CHECK_INT(due_ns, 10 * MS);
	CHECK_INT(pop(chain, &due_ns), 4);
	CHECK_INT(due_ns, 30 * MS);
	chain_free(chain);
}

static void
test_trace_origin(void)
{
	static const struct impairment path = {.trace = &recorded, .limit_packets = 1000};
	struct chain *chain = chain_new(&pool, 1, UP);

	chain_restart(chain, &path, 1000 * MS);
	push(chain, 0, 1500, 1001 * MS);
	CHECK_INT(chain_next_due(chain), 1010 * MS);
	/* A change of something else: the deliveries that are taken stay taken. */
	push(chain, 1, 1500, 1001 * MS);
	chain_change(chain, &path, 1);
	push(chain, 2, 1500, 1002 * MS);
	for (int i = 0; i < 2; i++) {
		int64_t due_ns;

		pop(chain, &due_ns);
	}
	CHECK_INT(chain_next_due(chain), 1030 * MS);
	chain_free(chain);
}

static void
test_a_rate_that_changes(void)
{
	const struct impairment fast = {.rate_bps = 8000000, .limit_packets = 1000},
				slow = {.rate_bps = 800000, .limit_packets = 1000};
	struct chain *chain = chain_of(&fast, 1);
	int64_t due_ns = 0;

	/* What waits keeps its time, and what comes waits for it. */
	for (uint32_t i = 0; i < 3; i++)
		push(chain, i, 1000, 0);
	chain_change(chain, &slow, 1);
	push(chain, 3, 1000, 1 * MS);
	for (int64_t i = 0; i < 3; i++) {
		CHECK_INT(pop(chain, &due_ns), i);
		CHECK_INT(due_ns, (i + 1) * MS);
	}
	CHECK_INT(pop(chain, &due_ns), 3);
	CHECK_INT(due_ns, 13 * MS);
	CHECK_INT(chain_counters(chain)->packets, 4);
	chain_free(chain);
}

static void
test_timeline(void)
{
	static const struct impairment first = {.delay_ns = 50 * MS};
	static const struct change changes[] = {
		{10 * MS, {{.delay_ns = 20 * MS}, {.delay_ns = 0}}},
		{20 * MS, {{.loss_ppm = 1000000}, {.delay_ns = 0}}},
		{30 * MS, {{.delay_ns = 100 * MS}, {.delay_ns = 0}}},
	};
	/* The shorter way does not overtake the longer; nothing goes while all is lost. */
	static const int64_t due_ms[] = {50, 55, 55, 55, -1, -1, 130, 135};
	struct chain *chains[DIRECTIONS] = {chain_of(&first, 1), chain_of(&first, 1)};
	struct timeline timeline;
	int64_t due_ns = 0;

	timeline_set(&timeline, changes, COUNT(changes));
	timeline_apply(&timeline, chains, 1000 * MS); /* the clock stands */
	timeline_start(&timeline, 2000 * MS);
	for (int64_t i = 0; i < (int64_t)COUNT(due_ms); i++) {
		timeline_apply(&timeline, chains, (2000 + 5 * i) * MS);
		push(chains[UP], (uint32_t)i, 100, (2000 + 5 * i) * MS);
	}
	for (int64_t i = 0; i < (int64_t)COUNT(due_ms); i++)
		if (due_ms[i] >= 0) {
			CHECK_INT(pop(chains[UP], &due_ns), i);
			CHECK_INT(due_ns, (2000 + due_ms[i]) * MS);
		}
	CHECK_INT(chain_counters(chains[UP])->lost, 2);
	CHECK_INT(chain_counters(chains[UP])->packets, (int64_t)COUNT(due_ms));
	for (enum direction i = UP; i < DIRECTIONS; i++)
		chain_free(chains[i]);
}

static void
test_timeline_starts_again(void)
{
	static const struct impairment first = {.delay_ns = 50 * MS};
	static const struct change changes[] = {
		{10 * MS, {{.delay_ns = 20 * MS}, {.delay_ns = 0}}}};
	struct chain *chains[DIRECTIONS] = {chain_of(&first, 1), chain_of(&first, 1)};
	struct timeline timeline;

	timeline_set(&timeline, changes, COUNT(changes));
	for (int64_t round = 1; round <= 2; round++) {
		timeline_start(&timeline, round * 100 * MS);
		CHECK_INT(timeline.due_ns, round * 100 * MS + 10 * MS);
		timeline_apply(&timeline, chains, round * 100 * MS + 10 * MS);
		CHECK_INT(timeline.due_ns, INT64_MAX);
	}
	timeline_start(&timeline, 300 * MS);
	timeline_stop(&timeline);
	CHECK_INT(timeline.due_ns, INT64_MAX);
	for (enum direction i = UP; i < DIRECTIONS; i++)
		chain_free(chains[i]);
}

/* The losses of 1000 packets, some of them after a change. */
static void
lose(struct chain *chain, const struct impairment *path, uint64_t change,
	char lost[static 1000])
{
	int64_t due_ns, number;

	memset(lost, 1, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		if (i == 500 && change)
			chain_change(chain, path, change);
		push(chain, i, 100, 0);
	}
	while ((number = pop(chain, &due_ns)) >= 0)
		lost[number] = 0;
}

static void
test_sequences_of_changes(void)
{
	static const struct impairment path = {.loss_ppm = 300000, .limit_packets = 1000};
	struct chain *chain = chain_of(&path, 1);
	char first[1000], again[1000], other[1000];

	lose(chain, &path, 1, first);
	CU_ASSERT(memcmp(first, first + 500, 500) != 0);
	/* From the start: the same packets, the same fates. */
	chain_restart(chain, &path, 5 * MS);
	lose(chain, &path, 1, again);
	CU_ASSERT(!memcmp(first, again, 1000));
	chain_restart(chain, &path, 5 * MS);
	lose(chain, &path, 2, other);
	CU_ASSERT(!memcmp(first, other, 500));
	CU_ASSERT(memcmp(first + 500, other + 500, 500) != 0);
	CHECK_INT(chain_counters(chain)->packets, 3000);
	chain_free(chain);
}

static void
test_restart_waits_for_nobody(void)
{
	const struct impairment slow = {.rate_bps = 8000, .limit_packets = 1000};
	struct chain *chain = chain_of(&slow, 1);

	for (uint32_t i = 0; i < 10; i++)
		push(chain, i, 1000, 0);
	chain_restart(chain, &slow, 5 * MS);
	push(chain, 10, 100, 5 * MS);
	CHECK_INT(chain_next_due(chain), 105 * MS);
	chain_free(chain);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"a queue bounded in bytes", test_queue_bytes},
		{"such a queue under load", test_queue_bytes_holds_a_mean},
		{"trace: full packets", test_trace_full_packets},
		{"trace: shared and split deliveries", test_trace_shares_and_splits},
		{"trace and delay", test_trace_with_delay},
		{"trace: a queue bounded in bytes", test_trace_queue_bytes},
		{"trace: its time 0", test_trace_origin},
		{"a rate that changes", test_a_rate_that_changes},
		{"timeline", test_timeline},
		{"timeline: started again", test_timeline_starts_again},
		{"changes have sequences of their own", test_sequences_of_changes},
		{"restart waits for nobody", test_restart_waits_for_nobody},
		CU_TEST_INFO_NULL,
	};
	int status = check_main("link_replay", tests);

	packet_pool_free(&pool);
	return status;
}
