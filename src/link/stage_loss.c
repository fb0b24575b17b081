/* Random loss: each packet is lost with the same probability, whatever happened before. */
#include "link/stage.h"

#define MILLION 1000000

struct loss {
	struct rng rng;
	uint64_t ppm;
};

static bool
wanted(const struct impairment *path)
{
	return path->loss_ppm > 0 && !path->bursts;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct loss *loss = state;

	loss->rng = *rng;
	loss->ppm = (uint64_t)path->loss_ppm;
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	struct loss *loss = state;

	/* One number a packet, so that the n-th packet's fate hangs on the seed and n alone. */
	if (rng_below(&loss->rng, MILLION) < loss->ppm)
		outlet_drop(out, packet, PACKET_LOST);
	else
		outlet_send(out, packet, now_ns);
}

const struct stage_ops stage_loss = {
	.name = "loss",
	.state_size = sizeof(struct loss),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
