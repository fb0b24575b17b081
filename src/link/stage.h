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

/* What became of a packet. */
enum packet_fate {
	PACKET_LOST,    /* the loss setting took it */
	PACKET_DROPPED, /* a queue was full */
	PACKET_SENT,    /* it waits at the end of the chain until it is due */
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
	/* The link changed: go on where `before`, the stage of this kind until now, was. NULL
	 * when there is nothing to go on with. */
	void (*succeed)(void *state, const void *before);
};

/* Hand `packet` on; it leaves this stage at `due_ns`. */
void outlet_send(struct outlet *out, struct packet *packet, int64_t due_ns);

/* Send `packet` past all stages that follow: it is due at `due_ns`, ahead of those that wait.
 */
void outlet_overtake(struct outlet *out, struct packet *packet, int64_t due_ns);

/* Mark `packet`, and count that. */
void outlet_mark(struct outlet *out, struct packet *packet, enum packet_mark mark);

/* A copy of `packet`, marked and counted as one. */
struct packet *outlet_copy(struct outlet *out, const struct packet *packet);

/* End the life of `packet`, and count why. */
void outlet_drop(struct outlet *out, struct packet *packet, enum packet_fate fate);

/* How many packets the chain holds right now. */
int64_t outlet_held(const struct outlet *out);

/* When the link's clock began, on the clock of `now_ns`. */
int64_t outlet_origin(const struct outlet *out);

/* clang-format off */
extern const struct stage_ops stage_loss;      /* random loss, each packet by itself */
extern const struct stage_ops stage_burst;     /* loss as the gemodel says */
extern const struct stage_ops stage_duplicate; /* some packets twice */
extern const struct stage_ops stage_corrupt;   /* one bit of some packets flipped */
extern const struct stage_ops stage_queue;     /* room for limit_packets, with those in flight */
extern const struct stage_ops stage_reorder;   /* some packets past all that follows */
extern const struct stage_ops stage_rate;      /* serialisation at rate_bps */
extern const struct stage_ops stage_trace;     /* the deliveries of a recorded link */
extern const struct stage_ops stage_delay;     /* a delay without jitter */
extern const struct stage_ops stage_jitter;    /* a delay with jitter around it */
/* clang-format on */

#endif
