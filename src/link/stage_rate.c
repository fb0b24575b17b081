/* Serialisation: packets leave one after the other, each taking its length at the link's rate.
 * With a bound in bytes, a packet that finds too many of them waiting is dropped. */
#include "link/stage.h"

#include "base/clock.h"

struct rate {
	int64_t bps;
	int64_t queue_bytes; /* 0: no bound here */
	int64_t free_ns;     /* when the last bit of the packet ahead is out */
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
	rate->queue_bytes = path->queue_bytes;
}

/* Is there room for a packet of `len` bytes beside those that wait? What waits is what the link
 * takes until free_ns to send. */
static bool
has_room(const struct rate *rate, uint32_t len, int64_t now_ns)
{
	int64_t room = rate->queue_bytes - (int64_t)len;

	return rate->queue_bytes == 0 ||
	       rate->free_ns - now_ns <= room * 8 * NS_PER_S / rate->bps;
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
	if (!has_room(rate, packet->len, now_ns)) {
		outlet_drop(out, packet, PACKET_DROPPED);
		return;
	}
	work += rate->rest;
	rate->free_ns += work / rate->bps;
	rate->rest = work % rate->bps;
	outlet_send(out, packet, rate->free_ns);
}

/* What waits was serialised at the rate that was. */
static void
succeed(void *state, const void *before)
{
	struct rate *rate = state;

	rate->free_ns = ((const struct rate *)before)->free_ns;
}

const struct stage_ops stage_rate = {
	.name = "rate",
	.state_size = sizeof(struct rate),
	.wanted = wanted,
	.start = start,
	.pass = pass,
	.succeed = succeed,
};
