/* The stages of one direction, joined, and the packets that wait at their end to become due. */
#ifndef LINK_CHAIN_H
#define LINK_CHAIN_H

#include <stdint.h>

#include "link/packet.h"
#include "link/profile.h"
#include "link/stage.h"

struct chain;

struct chain_counters {
	int64_t packets; /* that came in */
	int64_t lost;    /* by the loss setting */
	int64_t dropped; /* by a full queue */
	int64_t duplicated, corrupted, reordered;
};

/* Told what becomes of each packet as soon as that is certain; packet->due_ns is set when it is
 * sent. */
struct chain_watch {
	void (*tell)(void *context, const struct packet *packet, enum packet_fate fate);
	void *context;
};

/* A chain without stages: what goes in is due at once. Packets come from and go back to `pool`,
 * which must live longer. Stages draw their random numbers from `seed`, separately for each
 * stage and direction. Never NULL; release with chain_free(). */
struct chain *chain_new(struct packet_pool *pool, uint64_t seed, enum direction direction);

/* Append every stage that `path` needs, in the fixed order of a link. Unless the path reorders,
 * no packet is due before the one ahead from then on. */
void chain_add_path(struct chain *chain, const struct impairment *path);

/* Make the stages anew, as `path` says, and set the link's clock to 0 at `now_ns`. Random
 * sequences start from their beginning; packets that are held stay, and order is kept among
 * those that follow only. */
void chain_restart(struct chain *chain, const struct impairment *path, int64_t now_ns);

/* Go on as `path` says; `number`, from 1, is that of the change, which names the random
 * sequences. Packets that are held keep their due times, what waits for the rate goes on
 * waiting. */
void chain_change(struct chain *chain, const struct impairment *path, uint64_t number);

void chain_watch(struct chain *chain, const struct chain_watch *watch);

/* Append one stage, needed or not. */
void chain_add(struct chain *chain, const struct stage_ops *ops, const struct impairment *path);

/* A packet arrives. The chain owns it from now on. */
void chain_push(struct chain *chain, struct packet *packet, int64_t now_ns);

/* When the next packet is due; INT64_MAX when none is held. */
int64_t chain_next_due(const struct chain *chain);

/* The next packet that is due at `now_ns`, now owned by the caller; NULL if there is none. */
struct packet *chain_pop(struct chain *chain, int64_t now_ns);

const struct chain_counters *chain_counters(const struct chain *chain);

/* Packets still held go back to the pool. NULL is fine. */
void chain_free(struct chain *chain);

#endif
