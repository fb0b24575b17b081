/* Reordering: some packets skip rate, delay and jitter and so overtake those that do not.
 *
 * As in Linux' net/sched/sch_netem.c, netem_enqueue(): after each packet that was sent ahead,
 * gap
 * - 1 packets take the long way for certain, and then each is sent ahead with the stated
 * probability. */
#include "link/stage.h"

#define MILLION 1000000

struct reorder {
	struct rng rng;
	uint64_t ppm;
	int64_t gap;
	int64_t since; /* packets since the last one sent ahead */
};

static bool
wanted(const struct impairment *path)
{
	return path->reorder_ppm > 0 && path->reorder_gap > 0;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct reorder *reorder = state;

	reorder->rng = *rng;
	reorder->ppm = (uint64_t)path->reorder_ppm;
	reorder->gap = path->reorder_gap;
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	struct reorder *reorder = state;
	bool chosen = rng_below(&reorder->rng, MILLION) < reorder->ppm;

	if (chosen && reorder->since >= reorder->gap - 1) {
		reorder->since = 0;
		outlet_mark(out, packet, PACKET_REORDERED);
		outlet_overtake(out, packet, now_ns);
	} else {
		reorder->since++;
		outlet_send(out, packet, now_ns);
	}
}

const struct stage_ops stage_reorder = {
	.name = "reorder",
	.state_size = sizeof(struct reorder),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
