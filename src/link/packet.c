/* A pool of packet slots, last in first out, so that a busy link stays in the cache. */
#include "link/packet.h"

#include <stdlib.h>

#include "base/alloc.h"

#define BLOCK_PACKETS 256

static void
grow(struct packet_pool *pool)
{
	struct packet *block = alloc_zero(BLOCK_PACKETS, sizeof(*block));

	pool->blocks = alloc_grow(
		pool->blocks, pool->block_count, &pool->block_cap, sizeof(struct packet *));
	pool->blocks[pool->block_count++] = block;
	for (size_t i = 0; i < BLOCK_PACKETS; i++)
		packet_give_back(pool, &block[i]);
}

struct packet *
packet_take(struct packet_pool *pool)
{
	struct packet *packet;

	if (!pool->free)
		grow(pool);
	packet = pool->free;
	pool->free = packet->next;
	return packet;
}

void
packet_give_back(struct packet_pool *pool, struct packet *packet)
{
	packet->next = pool->free;
	pool->free = packet;
}

void
packet_pool_reserve(struct packet_pool *pool, size_t count)
{
	while (pool->block_count * BLOCK_PACKETS < count)
		grow(pool);
}

void
packet_pool_free(struct packet_pool *pool)
{
	for (size_t i = 0; i < pool->block_count; i++)
		free(pool->blocks[i]);
	free(pool->blocks);
	*pool = (struct packet_pool){0};
}
