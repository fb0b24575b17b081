/* A chain of one direction on a clock that only the test moves, with packets that carry a
 * number.
 */
#ifndef TESTS_UNIT_IMPAIR_H
#define TESTS_UNIT_IMPAIR_H

#include <string.h>

#include "link/chain.h"

static struct packet_pool pool;

static inline struct chain *
chain_of(const struct impairment *path, uint64_t seed)
{
	struct chain *chain = chain_new(&pool, seed, UP);

	chain_add_path(chain, path);
	return chain;
}

/* A packet of `len` bytes that carries `number`. */
static inline void
push(struct chain *chain, uint32_t number, uint32_t len, int64_t now_ns)
{
	struct packet *packet = packet_take(&pool);

	packet->len = len;
	memset(packet->data, 0, len);
	memcpy(packet->data, &number, sizeof(number));
	chain_push(chain, packet, now_ns);
}

/* The next packet that is due at `now_ns`: its number, -1 if there is none. */
static inline int64_t
pop_until(struct chain *chain, int64_t now_ns, int64_t *due_ns)
{
	struct packet *packet = chain_pop(chain, now_ns);
	uint32_t number;

	if (!packet)
		return -1;
	memcpy(&number, packet->data, sizeof(number));
	*due_ns = packet->due_ns;
	packet_give_back(&pool, packet);
	return number;
}

/* The next packet whenever it is due. */
static inline int64_t
pop(struct chain *chain, int64_t *due_ns)
{
	return pop_until(chain, INT64_MAX, due_ns);
}

#endif
