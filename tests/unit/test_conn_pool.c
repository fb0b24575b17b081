/* The books of the connection pool: who gets which connection, and never too many. */
#include <stdbool.h>

#include "base/ring.h"
#include "base/rng.h"
#include "probe/conn_pool.h"

#include "check.h"

/* Takes for workers 0 .. count - 1; conns[] is what they got. */
static void
take_many(struct conn_pool *pool, size_t count, enum pool_answer expected, size_t *conns)
{
	for (size_t i = 0; i < count; i++)
		CHECK_INT(conn_pool_take(pool, i, &conns[i]), expected);
}

static void
test_ring(void)
{
	struct ring ring;

	ring_init(&ring, 3);
	for (size_t lap = 0; lap < 5; lap++) {
		for (size_t i = 0; i < 3; i++)
			ring_push(&ring, 10 * lap + i);
		CHECK_INT(ring.count, 3);
		CHECK_INT(ring_pop_last(&ring), 10 * lap + 2);
		CHECK_INT(ring_pop_first(&ring), 10 * lap);
		CHECK_INT(ring_pop_first(&ring), 10 * lap + 1);
		CHECK_INT(ring.count, 0);
	}
	ring_free(&ring);
}

/* Three come back, in the order they were taken; two are kept. */
static void
check_policy(enum pool_policy policy, size_t first, size_t second)
{
	struct conn_pool pool;
	size_t conns[3], again[3], nobody = 99;

	conn_pool_init(&pool, policy, 3, 2, 0);
	take_many(&pool, 3, POOL_OPEN, conns);
	CHECK_INT(conn_pool_give(&pool, conns[0], &nobody), POOL_KEEP);
	CHECK_INT(conn_pool_give(&pool, conns[1], &nobody), POOL_KEEP);
	CHECK_INT(conn_pool_give(&pool, conns[2], &nobody), POOL_CLOSE);
	CHECK_INT(nobody, 99);
	CHECK_INT(pool.open, 2);
	take_many(&pool, 2, POOL_REUSE, again);
	CHECK_INT(again[0], conns[first]);
	CHECK_INT(again[1], conns[second]);
	CHECK_INT(conn_pool_take(&pool, 2, &again[2]), POOL_OPEN);
	conn_pool_free(&pool);
}

static void
test_policies(void)
{
	check_policy(POOL_LIFO, 1, 0);
	check_policy(POOL_FIFO, 0, 1);
}

/* A cap: who waits longest is served first, by a connection that comes back or by a new one in
 * the place of one that was closed. */
static void
test_cap(void)
{
	struct conn_pool pool;
	size_t conns[6] = {0}, worker = 99, opened = 99;

	conn_pool_init(&pool, POOL_LIFO, 6, 1, 2);
	CHECK_INT(conn_pool_numbers(&pool), 2);
	take_many(&pool, 2, POOL_OPEN, conns);
	for (size_t i = 2; i < 5; i++)
		CHECK_INT(conn_pool_take(&pool, i, &conns[i]), POOL_WAIT);
	CHECK_INT(conn_pool_give(&pool, conns[0], &worker), POOL_HAND);
	CHECK_INT(worker, 2);
	CHECK_INT(conn_pool_closed(&pool, conns[1], &worker, &opened), POOL_OPEN);
	CHECK_INT(worker, 3);
	CHECK_INT(pool.open, 2);
	CHECK_INT(conn_pool_give(&pool, opened, &worker), POOL_HAND);
	CHECK_INT(worker, 4);
	CHECK_INT(conn_pool_give(&pool, opened, &worker), POOL_KEEP);
	CHECK_INT(conn_pool_closed(&pool, conns[0], &worker, &opened), POOL_NOBODY);
	CHECK_INT(pool.open, 1);
	conn_pool_free(&pool);
}

static void
test_forget(void)
{
	struct conn_pool pool;
	size_t conns[4], again[4], nobody;

	conn_pool_init(&pool, POOL_FIFO, 4, 4, 0);
	take_many(&pool, 4, POOL_OPEN, conns);
	for (size_t i = 0; i < 4; i++)
		CHECK_INT(conn_pool_give(&pool, conns[i], &nobody), POOL_KEEP);
	conn_pool_forget(&pool, conns[1]);
	CHECK_INT(pool.open, 3);
	take_many(&pool, 3, POOL_REUSE, again);
	CHECK_INT(again[0], conns[0]);
	CHECK_INT(again[1], conns[2]);
	CHECK_INT(again[2], conns[3]);
	CHECK_INT(conn_pool_take(&pool, 3, &again[3]), POOL_OPEN);
	CHECK_INT(again[3], conns[1]);
	conn_pool_free(&pool);
}

/* The arithmetic of waves, for any size: workers + (waves - 1) x (workers - idle). */
static void
test_waves(void)
{
	for (size_t idle = 0; idle <= 12; idle++) {
		size_t conns[10], nobody, opened = 0, kept = idle < 10 ? idle : 10;
		struct conn_pool pool;

		conn_pool_init(&pool, POOL_LIFO, 10, idle, 0);
		for (int wave = 0; wave < 10; wave++) {
			for (size_t i = 0; i < 10; i++)
				opened += conn_pool_take(&pool, i, &conns[i]) == POOL_OPEN;
			for (size_t i = 0; i < 10; i++)
				conn_pool_give(&pool, conns[i], &nobody);
		}
		CHECK_INT(opened, 10 + 9 * (10 - kept));
		conn_pool_free(&pool);
	}
}

#define WORKERS 12
#define NONE ((size_t)-1)

/* Workers that come and go at random, with what each holds; a connection is never with two. */
struct throng {
	struct conn_pool pool;
	size_t held[WORKERS]; /* NONE */
	bool waits[WORKERS];
};

static void
hand(struct throng *throng, size_t worker, size_t conn)
{
	for (size_t i = 0; i < WORKERS; i++)
		CHECK_INT(throng->held[i] == conn, 0);
	CHECK_INT(conn < conn_pool_numbers(&throng->pool), 1);
	throng->held[worker] = conn;
	throng->waits[worker] = false;
}

static void
step(struct throng *throng, size_t worker, bool closes)
{
	size_t conn = throng->held[worker], heir, opened;

	if (throng->waits[worker])
		return;
	if (conn == NONE) {
		throng->waits[worker] = conn_pool_take(&throng->pool, worker, &conn) ==
					POOL_WAIT;
		if (!throng->waits[worker])
			hand(throng, worker, conn);
		return;
	}
	throng->held[worker] = NONE;
	if (closes) {
		if (conn_pool_closed(&throng->pool, conn, &heir, &opened) == POOL_OPEN)
			hand(throng, heir, opened);
	} else if (conn_pool_give(&throng->pool, conn, &heir) == POOL_HAND) {
		hand(throng, heir, conn);
	}
}

static void
test_throng(void)
{
	struct rng rng;

	rng_seed(&rng, 1, 0);
	for (int round = 0; round < 200; round++) {
		size_t idle = rng_below(&rng, 6), max = rng_below(&rng, 3) ? 0 : idle + 1;
		struct throng throng;

		conn_pool_init(&throng.pool, (enum pool_policy)(round % 2), WORKERS, idle, max);
		for (size_t i = 0; i < WORKERS; i++) {
			throng.held[i] = NONE;
			throng.waits[i] = false;
		}
		for (int i = 0; i < 300; i++) {
			size_t busy = 0;

			step(&throng, rng_below(&rng, WORKERS), rng_below(&rng, 8) == 0);
			for (size_t w = 0; w < WORKERS; w++)
				busy += throng.held[w] != NONE;
			CHECK_INT(throng.pool.open, busy + throng.pool.idle.count);
			CHECK_INT(throng.pool.idle.count <= idle, 1);
			CHECK_INT(max == 0 || throng.pool.open <= max, 1);
			/* Nobody waits while something is idle or may be opened. */
			CHECK_INT(throng.pool.waiting.count && throng.pool.idle.count, 0);
			CHECK_INT(throng.pool.waiting.count && throng.pool.open < max, 0);
		}
		conn_pool_free(&throng.pool);
	}
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"ring", test_ring},
		{"newest or oldest", test_policies},
		{"cap", test_cap},
		{"lost while idle", test_forget},
		{"waves", test_waves},
		{"at random", test_throng},
		CU_TEST_INFO_NULL,
	};

	return check_main("conn_pool", tests);
}
