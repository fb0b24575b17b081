/* The bounded queue: what arrives while the chain holds `limit` packets is dropped.
 *
 * As with netem's `limit`, packets on the wire count too, so a profile means the same with both
 * backends. */
#include "link/stage.h"

struct queue {
	int64_t limit;
};

static bool
wanted(const struct impairment *path)
{
	(void)path;
	return true; /* memory is bounded on every link */
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct queue *queue = state;

	(void)rng;
	queue->limit = impairment_limit(path);
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	const struct queue *queue = state;

	if (outlet_held(out) >= queue->limit)
		outlet_drop(out, packet, PACKET_DROPPED);
	else
		outlet_send(out, packet, now_ns);
}

const struct stage_ops stage_queue = {
	.name = "queue",
	.state_size = sizeof(struct queue),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
