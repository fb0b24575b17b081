/* Duplicates: some packets go on twice, the copy right behind the original. */
#include "link/stage.h"

#define MILLION 1000000

struct duplicate {
	struct rng rng;
	uint64_t ppm;
};

static bool
wanted(const struct impairment *path)
{
	return path->duplicate_ppm > 0;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct duplicate *duplicate = state;

	duplicate->rng = *rng;
	duplicate->ppm = (uint64_t)path->duplicate_ppm;
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	struct duplicate *duplicate = state;
	struct packet *copy = NULL;

	/* Copied first: what follows may change the original, or give it back. */
	if (rng_below(&duplicate->rng, MILLION) < duplicate->ppm)
		copy = outlet_copy(out, packet);
	outlet_send(out, packet, now_ns);
	if (copy)
		outlet_send(out, copy, now_ns);
}

const struct stage_ops stage_duplicate = {
	.name = "duplicate",
	.state_size = sizeof(struct duplicate),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
