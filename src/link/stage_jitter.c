/* Jitter: a uniform extra of 0 to twice jitter_ns, so that the mean stays the stated delay.
 *
 * Order is kept: a packet is never due before the one ahead of it. Packets closer together than
 * the jitter therefore bunch up behind a late one, as behind a slow router. */
#include "link/stage.h"

struct jitter {
	struct rng rng;
	int64_t ns;
	int64_t last_ns; /* when the packet ahead is due */
};

static bool
wanted(const struct impairment *path)
{
	return path->jitter_ns > 0;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct jitter *jitter = state;

	jitter->rng = *rng;
	jitter->ns = path->jitter_ns;
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	struct jitter *jitter = state;
	uint64_t span = 2 * (uint64_t)jitter->ns + 1;
	int64_t due_ns = now_ns + (int64_t)rng_below(&jitter->rng, span);

	if (due_ns < jitter->last_ns)
		due_ns = jitter->last_ns;
	jitter->last_ns = due_ns;
	outlet_send(out, packet, due_ns);
}

const struct stage_ops stage_jitter = {
	.name = "jitter",
	.state_size = sizeof(struct jitter),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
