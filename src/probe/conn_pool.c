/* Who gets which connection. */
#include "probe/conn_pool.h"

void
conn_pool_init(struct conn_pool *pool, enum pool_policy policy, size_t workers, size_t idle_max,
	size_t open_max)
{
	/* Each is idle or has a worker, so more cannot be open at once. */
	size_t most = workers + idle_max;

	*pool = (struct conn_pool){
		.policy = policy,
		.idle_max = idle_max,
		.open_max = open_max && open_max < most ? open_max : most,
	};
	ring_init(&pool->idle, idle_max);
	ring_init(&pool->waiting, workers);
	ring_init(&pool->unused, pool->open_max);
	for (size_t conn = 0; conn < pool->open_max; conn++)
		ring_push(&pool->unused, conn);
}

void
conn_pool_free(struct conn_pool *pool)
{
	ring_free(&pool->idle);
	ring_free(&pool->waiting);
	ring_free(&pool->unused);
}

size_t
conn_pool_numbers(const struct conn_pool *pool)
{
	return pool->open_max;
}

static size_t
open_one(struct conn_pool *pool)
{
	pool->open++;
	return ring_pop_last(&pool->unused);
}

static void
close_one(struct conn_pool *pool, size_t conn)
{
	pool->open--;
	ring_push(&pool->unused, conn);
}

enum pool_answer
conn_pool_take(struct conn_pool *pool, size_t worker, size_t *conn)
{
	if (pool->idle.count > 0) {
		*conn = pool->policy == POOL_LIFO ? ring_pop_last(&pool->idle)
						  : ring_pop_first(&pool->idle);
		return POOL_REUSE;
	}
	if (pool->open < pool->open_max) {
		*conn = open_one(pool);
		return POOL_OPEN;
	}
	ring_push(&pool->waiting, worker);
	return POOL_WAIT;
}

enum pool_answer
conn_pool_give(struct conn_pool *pool, size_t conn, size_t *worker)
{
	if (pool->waiting.count > 0) {
		*worker = ring_pop_first(&pool->waiting);
		return POOL_HAND;
	}
	if (pool->idle.count < pool->idle_max) {
		ring_push(&pool->idle, conn);
		return POOL_KEEP;
	}
	close_one(pool, conn);
	return POOL_CLOSE;
}

enum pool_answer
conn_pool_closed(struct conn_pool *pool, size_t conn, size_t *worker, size_t *opened)
{
	close_one(pool, conn);
	if (pool->waiting.count == 0)
		return POOL_NOBODY;
	*worker = ring_pop_first(&pool->waiting);
	*opened = open_one(pool);
	return POOL_OPEN;
}

void
conn_pool_forget(struct conn_pool *pool, size_t conn)
{
	/* Once around: what is popped in front goes back behind, in the same order. */
	for (size_t left = pool->idle.count; left > 0; left--) {
		size_t idle = ring_pop_first(&pool->idle);

		if (idle != conn)
			ring_push(&pool->idle, idle);
		else
			close_one(pool, conn);
	}
}
