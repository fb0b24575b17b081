/* A delay with jitter around it, spread as tc-netem spreads it: uniformly over +- jitter_ns, or
 * jitter_ns times a number from a table (link/spread.h). What would be a negative delay is
 * none.
 *
 * A packet drawn earlier than the one ahead waits for it at the end of the chain, unless the
 * link reorders. Packets closer together than the jitter therefore bunch up behind a late one,
 * as behind a slow router. */
#include "link/stage.h"

#include "link/spread.h"

struct jitter {
	struct rng rng;
	int64_t delay_ns, ns;
	const struct spread *spread; /* NULL: uniform */
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
	jitter->delay_ns = path->delay_ns;
	jitter->ns = path->jitter_ns;
	jitter->spread = spread_of(path->distribution);
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	struct jitter *jitter = state;
	int64_t delay_ns = jitter->delay_ns;

	if (jitter->spread)
		delay_ns += spread_draw(jitter->spread, &jitter->rng, jitter->ns);
	else
		delay_ns += (int64_t)rng_below(&jitter->rng, 2 * (uint64_t)jitter->ns + 1) -
			    jitter->ns;
	outlet_send(out, packet, delay_ns > 0 ? now_ns + delay_ns : now_ns);
}

const struct stage_ops stage_jitter = {
	.name = "jitter",
	.state_size = sizeof(struct jitter),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
