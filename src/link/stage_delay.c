/* Fixed delay. One with jitter around it is all in stage_jitter.c. */
#include "link/stage.h"

struct delay {
	int64_t ns;
};

static bool
wanted(const struct impairment *path)
{
	return path->delay_ns > 0 && path->jitter_ns == 0;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct delay *delay = state;

	(void)rng;
	delay->ns = path->delay_ns;
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
