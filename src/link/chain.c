/* A chain of stages that ends in a list of packets sorted by due time.
 *
 *   push -> loss -> queue -> rate -> delay -> jitter -> [ due list ] -> pop
 *
 * Loss comes first, so that which packets it takes depends on the seed and their number alone,
 * never on how full a queue was. The list is kept sorted from its tail: with stages that keep
 * order that is a plain append, and a stage that reorders costs only the distance it moves. */
#include "link/chain.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/rng.h"

static const struct stage_ops *const order[] = {
	&stage_loss, &stage_queue, &stage_rate, &stage_delay, &stage_jitter};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct outlet {
	struct chain *chain;
	size_t next; /* place of the stage behind this outlet */
};

struct joint {
	const struct stage_ops *ops;
	void *state;
	struct outlet out;
};

struct chain {
	struct packet_pool *pool;
	uint64_t seed;
	enum direction direction;
	struct joint *joints;
	size_t count, cap;
	struct packet *head, *tail; /* by due time */
	int64_t held;
	struct chain_counters counters;
};

struct chain *
chain_new(struct packet_pool *pool, uint64_t seed, enum direction direction)
{
	struct chain *chain = alloc_zero(1, sizeof(*chain));

	chain->pool = pool;
	chain->seed = seed;
	chain->direction = direction;
	return chain;
}

/* The number of a stage among those of its kind: names its random sequence in a way that does
 * not change when another kind of stage is added to the chain. */
static uint64_t
same_kind(const struct chain *chain, const struct stage_ops *ops)
{
	uint64_t count = 0;

	for (size_t i = 0; i < chain->count; i++)
		count += chain->joints[i].ops == ops;
	return count;
}

void
chain_add(struct chain *chain, const struct stage_ops *ops, const struct impairment *path)
{
	struct joint *joint;
	struct rng rng;

	rng_seed(&rng, chain->seed,
		rng_hash(ops->name) + same_kind(chain, ops) * DIRECTIONS + chain->direction);
	chain->joints = alloc_grow(chain->joints, chain->count, &chain->cap, sizeof(*joint));
	joint = &chain->joints[chain->count++];
	joint->ops = ops;
	joint->state = alloc_zero(1, ops->state_size);
	joint->out = (struct outlet){chain, chain->count};
	ops->start(joint->state, path, &rng);
}

void
chain_add_path(struct chain *chain, const struct impairment *path)
{
	for (size_t i = 0; i < COUNT(order); i++)
		if (order[i]->wanted(path))
			chain_add(chain, order[i], path);
}

static void
hold(struct chain *chain, struct packet *packet)
{
	struct packet *ahead = chain->tail;

	while (ahead && ahead->due_ns > packet->due_ns)
		ahead = ahead->prev;
	packet->prev = ahead;
	packet->next = ahead ? ahead->next : chain->head;
	*(packet->next ? &packet->next->prev : &chain->tail) = packet;
	*(ahead ? &ahead->next : &chain->head) = packet;
	chain->held++;
}

static void
enter(struct chain *chain, size_t place, struct packet *packet, int64_t now_ns)
{
	if (place < chain->count) {
		struct joint *joint = &chain->joints[place];

		joint->ops->pass(joint->state, packet, now_ns, &joint->out);
	} else {
		packet->due_ns = now_ns;
		hold(chain, packet);
	}
}

void
outlet_send(struct outlet *out, struct packet *packet, int64_t due_ns)
{
	enter(out->chain, out->next, packet, due_ns);
}

void
outlet_drop(struct outlet *out, struct packet *packet, enum packet_fate fate)
{
	struct chain_counters *counters = &out->chain->counters;

	(*(fate == PACKET_LOST ? &counters->lost : &counters->dropped))++;
	packet_give_back(out->chain->pool, packet);
}

int64_t
outlet_held(const struct outlet *out)
{
	return out->chain->held;
}

void
chain_push(struct chain *chain, struct packet *packet, int64_t now_ns)
{
	chain->counters.packets++;
	enter(chain, 0, packet, now_ns);
}

int64_t
chain_next_due(const struct chain *chain)
{
	return chain->head ? chain->head->due_ns : INT64_MAX;
}

struct packet *
chain_pop(struct chain *chain, int64_t now_ns)
{
	struct packet *packet = chain->head;

	if (!packet || packet->due_ns > now_ns)
		return NULL;
	chain->head = packet->next;
	*(chain->head ? &chain->head->prev : &chain->tail) = NULL;
	chain->held--;
	return packet;
}

const struct chain_counters *
chain_counters(const struct chain *chain)
{
	return &chain->counters;
}

void
chain_free(struct chain *chain)
{
	struct packet *packet;

	if (!chain)
		return;
	while ((packet = chain_pop(chain, INT64_MAX)))
		packet_give_back(chain->pool, packet);
	for (size_t i = 0; i < chain->count; i++)
		free(chain->joints[i].state);
	free(chain->joints);
	free(chain);
}
