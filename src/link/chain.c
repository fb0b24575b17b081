/* A chain of stages that ends in a list of packets sorted by due time.
 *
 *   push -> loss | burst -> duplicate -> corrupt -> queue -> reorder -> rate | trace
 *        -> delay | jitter -> [ due list ] -> pop
 *
 * What hangs on chance alone comes first, so that which packets it takes depends on the seed
 * and their number, never on how full a queue was. The list is kept sorted from its tail: where
 * order is kept that is a plain append, and a stage that reorders costs only the distance it
 * moves.
 *
 * Order is kept here and not in the stages, because a change of the link would break it too. */
#include "link/chain.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"

static const struct stage_ops *const order[] = {&stage_loss, &stage_burst, &stage_duplicate,
	&stage_corrupt, &stage_queue, &stage_reorder, &stage_rate, &stage_trace, &stage_delay,
	&stage_jitter};

/* Random sequences from one change to the next: more than a chain has of one kind of stage. */
#define CHANGE_STRIDE 65536

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
	uint64_t change; /* number of the last one; 0: the link's first state */
	int64_t origin_ns;
	bool ordered;
	int64_t last_ns;            /* the latest due time so far */
	struct packet *head, *tail; /* by due time */
	int64_t held;
	struct chain_counters counters;
	struct chain_watch watch;
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
		rng_hash(ops->name) + chain->change * CHANGE_STRIDE +
			same_kind(chain, ops) * DIRECTIONS + chain->direction);
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
	chain->ordered = !path->reorder_ppm;
}

/* A chain without stages, as far as `chain` is concerned; the caller has them. */
static void
take_stages_out(struct chain *chain, struct chain *old)
{
	*old = *chain;
	chain->joints = NULL;
	chain->count = chain->cap = 0;
}

static void
free_stages(struct chain *chain)
{
	for (size_t i = 0; i < chain->count; i++)
		free(chain->joints[i].state);
	free(chain->joints);
}

void
chain_restart(struct chain *chain, const struct impairment *path, int64_t now_ns)
{
	struct chain old;

	take_stages_out(chain, &old);
	free_stages(&old);
	chain->change = 0;
	chain->origin_ns = now_ns;
	chain->last_ns = 0;
	chain_add_path(chain, path);
}

static void
succeed(struct chain *chain, const struct joint *before)
{
	for (size_t i = 0; i < chain->count && before->ops->succeed; i++)
		if (chain->joints[i].ops == before->ops)
			before->ops->succeed(chain->joints[i].state, before->state);
}

void
chain_change(struct chain *chain, const struct impairment *path, uint64_t number)
{
	struct chain old;

	take_stages_out(chain, &old);
	chain->change = number;
	chain_add_path(chain, path);
	for (size_t i = 0; i < old.count; i++)
		succeed(chain, &old.joints[i]);
	free_stages(&old);
}

void
chain_watch(struct chain *chain, const struct chain_watch *watch)
{
	chain->watch = *watch;
}

static void
tell(const struct chain *chain, const struct packet *packet, enum packet_fate fate)
{
	if (chain->watch.tell)
		chain->watch.tell(chain->watch.context, packet, fate);
}

static void
hold(struct chain *chain, struct packet *packet, int64_t due_ns)
{
	struct packet *ahead = chain->tail;

	if (chain->ordered && due_ns < chain->last_ns)
		due_ns = chain->last_ns;
	if (due_ns > chain->last_ns)
		chain->last_ns = due_ns;
	packet->due_ns = due_ns;

	while (ahead && ahead->due_ns > packet->due_ns)
		ahead = ahead->prev;
	packet->prev = ahead;
	packet->next = ahead ? ahead->next : chain->head;
	*(packet->next ? &packet->next->prev : &chain->tail) = packet;
	*(ahead ? &ahead->next : &chain->head) = packet;
	chain->held++;
	tell(chain, packet, PACKET_SENT);
}

static void
enter(struct chain *chain, size_t place, struct packet *packet, int64_t now_ns)
{
	if (place < chain->count) {
		struct joint *joint = &chain->joints[place];

		joint->ops->pass(joint->state, packet, now_ns, &joint->out);
	} else {
		hold(chain, packet, now_ns);
	}
}

void
outlet_send(struct outlet *out, struct packet *packet, int64_t due_ns)
{
	enter(out->chain, out->next, packet, due_ns);
}

void
outlet_overtake(struct outlet *out, struct packet *packet, int64_t due_ns)
{
	hold(out->chain, packet, due_ns);
}

void
outlet_mark(struct outlet *out, struct packet *packet, enum packet_mark mark)
{
	struct chain_counters *counters = &out->chain->counters;

	packet->marks |= mark;
	counters->duplicated += mark == PACKET_COPY;
	counters->corrupted += mark == PACKET_CORRUPTED;
	counters->reordered += mark == PACKET_REORDERED;
}

struct packet *
outlet_copy(struct outlet *out, const struct packet *packet)
{
	struct packet *copy = packet_take(out->chain->pool);

	copy->len = packet->len;
	copy->marks = packet->marks;
	memcpy(copy->header, packet->header, sizeof(copy->header));
	memcpy(copy->data, packet->data, packet->len);
	outlet_mark(out, copy, PACKET_COPY);
	return copy;
}

void
outlet_drop(struct outlet *out, struct packet *packet, enum packet_fate fate)
{
	struct chain_counters *counters = &out->chain->counters;

	(*(fate == PACKET_LOST ? &counters->lost : &counters->dropped))++;
	tell(out->chain, packet, fate);
	packet_give_back(out->chain->pool, packet);
}

int64_t
outlet_held(const struct outlet *out)
{
	return out->chain->held;
}

int64_t
outlet_origin(const struct outlet *out)
{
	return out->chain->origin_ns;
}

void
chain_push(struct chain *chain, struct packet *packet, int64_t now_ns)
{
	chain->counters.packets++;
	packet->marks = 0;
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
	free_stages(chain);
	free(chain);
}
