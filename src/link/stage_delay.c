/* Fixed delay: what is left of `delay` when jitter is at its lowest. */
#include "link/stage.h"

struct delay {
	int64_t ns;
};

static bool
wanted(const struct impairment *path)
{
	return path->delay_ns > path->jitter_ns;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct delay *delay = state;

	(void)rng;
	/* Jitter is +- around the delay, but a stage can't send a packet back in time: so the
	 * fixed part is the least a packet may take, and stage_jitter only ever adds. */
	delay->ns = path->delay_ns - path->jitter_ns;
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	const struct delay *delay = state;

	outlet_send(out, packet, now_ns + delay->ns);
}

const struct stage_ops stage_delay = {
	.name = "delay",
	.state_size = sizeof(struct delay),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
