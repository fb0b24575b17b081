/* Serialisation: packets leave one after the other, each taking its length at the link's rate.
 */
#include "link/stage.h"

#include "base/clock.h"

struct rate {
	int64_t bps;
	int64_t free_ns; /* when the last bit of the packet ahead is out */
	int64_t rest; /* what that division left over, so that short packets do not run fast */
};

static bool
wanted(const struct impairment *path)
{
	return path->rate_bps > 0;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct rate *rate = state;

	(void)rng;
	rate->bps = path->rate_bps;
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	struct rate *rate = state;
	int64_t work = (int64_t)packet->len * 8 * NS_PER_S;

	if (rate->free_ns < now_ns) {
		rate->free_ns = now_ns;
		rate->rest = 0;
	}
	work += rate->rest;
	rate->free_ns += work / rate->bps;
	rate->rest = work % rate->bps;
	outlet_send(out, packet, rate->free_ns);
}

const struct stage_ops stage_rate = {
	.name = "rate",
	.state_size = sizeof(struct rate),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
