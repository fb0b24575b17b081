/* An impairment stage: packets in, packets out with the time at which each is due.
 *
 * A stage does no I/O and reads no clock: `now_ns` is handed in. What it lets through it sends
 * on with a due time, and the next stage sees the packet at that time as if it had come then,
 * so the whole chain is walked at once when a packet arrives and nothing is queued between
 * stages. The price: a stage must not base a decision on what arrives later.
 *
 * A new impairment is one file with one `const struct stage_ops`, its row in chain.c, and the
 * member of struct impairment (link/profile.h) that its profile key fills. */
#ifndef LINK_STAGE_H
#define LINK_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "link/packet.h"
#include "link/profile.h"

struct outlet; /* what follows a stage; see link/chain.h */

/* Why a packet did not come out. */
enum packet_fate {
	PACKET_LOST,    /* the loss setting took it */
	PACKET_DROPPED, /* a queue was full */
};

struct stage_ops {
	const char *name;
	size_t state_size;
	/* Does this path need the stage at all? */
	bool (*wanted)(const struct impairment *path);
	/* Set up zeroed state; `rng` is the stage's own sequence of random numbers. */
	void (*start)(void *state, const struct impairment *path, const struct rng *rng);
	/* One packet arrives at `now_ns` (never before the one ahead of it, unless a stage
	 * before this one reorders). Ends in any number of outlet_send() or outlet_drop(). */
	void (*pass)(void *state, struct packet *packet, int64_t now_ns, struct outlet *out);
};

/* Hand `packet` on; it leaves this stage at `due_ns`. */
void outlet_send(struct outlet *out, struct packet *packet, int64_t due_ns);

/* End the life of `packet`, and count why. */
void outlet_drop(struct outlet *out, struct packet *packet, enum packet_fate fate);

/* How many packets the chain holds right now. */
int64_t outlet_held(const struct outlet *out);

extern const struct stage_ops stage_loss; /* random loss, each packet by itself */
extern const struct stage_ops
	stage_queue;                      /* room for limit_packets, counting those in flight */
extern const struct stage_ops stage_rate; /* serialisation at rate_bps */
extern const struct stage_ops stage_delay; /* the shortest time a packet takes */
extern const struct stage_ops
	stage_jitter; /* uniform, up to twice jitter_ns on top; keeps order */

#endif
