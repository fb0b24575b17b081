/* Pushes packets through the chains of both directions as the ferry would, with a clock that
 * only goes on from packet to packet. */
#include "link/fates.h"

#include <string.h>

#include "link/chain.h"
#include "link/timeline.h"

/* One direction's packet under way. */
struct teller {
	enum direction direction;
	int64_t number, now_ns;
	void (*take)(void *context, const struct fate *fate);
	void *context;
};

static void
tell(void *context, const struct packet *packet, enum packet_fate fate)
{
	const struct teller *teller = context;
	struct fate told = {
		.direction = teller->direction,
		.number = teller->number,
		.fate = fate,
		.delay_ns = fate == PACKET_SENT ? packet->due_ns - teller->now_ns : 0,
		.marks = packet->marks,
	};

	teller->take(teller->context, &told);
}

static void
push(struct chain *chain, struct packet_pool *pool, uint32_t len, int64_t now_ns)
{
	struct packet *packet;

	while ((packet = chain_pop(chain, now_ns)))
		packet_give_back(pool, packet);
	packet = packet_take(pool);
	packet->len = len;
	memset(packet->data, 0, len);
	chain_push(chain, packet, now_ns);
}

void
fates_each(const struct fates_plan *plan, void (*take)(void *context, const struct fate *fate),
	void *context)
{
	const struct profile *profile = plan->profile;
	struct packet_pool pool = {0};
	struct chain *chains[DIRECTIONS];
	struct teller tellers[DIRECTIONS];
	struct timeline timeline;

	for (enum direction i = UP; i < DIRECTIONS; i++) {
		tellers[i] = (struct teller){i, 0, 0, take, context};
		chains[i] = chain_new(&pool, plan->seed, i);
		chain_restart(chains[i], &profile->path[i], 0);
		chain_watch(chains[i], &(struct chain_watch){tell, &tellers[i]});
	}
	timeline_set(&timeline, profile->changes, profile->change_count);
	timeline_start(&timeline, 0);
	for (int64_t n = 0; n < plan->count; n++) {
		timeline_apply(&timeline, chains, n * plan->interval_ns);
		for (enum direction i = UP; i < DIRECTIONS; i++) {
			tellers[i].number = n + 1;
			tellers[i].now_ns = n * plan->interval_ns;
			push(chains[i], &pool, plan->len, tellers[i].now_ns);
		}
	}
	for (enum direction i = UP; i < DIRECTIONS; i++)
		chain_free(chains[i]);
	packet_pool_free(&pool);
}
