/* Loss in bursts, by the model of Gilbert and Elliott: the state a packet meets decides whether
 * it is lost, then the state may change, as in Linux' net/sched/sch_netem.c loss_gilb_ell(). */
#include "link/stage.h"

#define BILLION UINT64_C(1000000000)

struct state {
	uint64_t leave_ppb, loss_ppb;
};

struct burst {
	struct rng rng;
	bool bad;
	struct state states[2]; /* by `bad` */
};

static bool
wanted(const struct impairment *path)
{
	return path->bursts;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	const struct gemodel *model = &path->gemodel;
	struct burst *burst = state;

	burst->rng = *rng;
	burst->states[false] = (struct state){
		(uint64_t)model->to_bad_ppb, (uint64_t)model->good_loss_ppb};
	burst->states[true] = (struct state){
		(uint64_t)model->to_good_ppb, (uint64_t)model->bad_loss_ppb};
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	struct burst *burst = state;
	const struct state *met = &burst->states[burst->bad];
	/* Two numbers a packet, whatever the state, so that the n-th packet's fate hangs on the
	 * seed and n alone. */
	bool leaves = rng_below(&burst->rng, BILLION) < met->leave_ppb;
	bool lost = rng_below(&burst->rng, BILLION) < met->loss_ppb;

	burst->bad ^= leaves;
	if (lost)
		outlet_drop(out, packet, PACKET_LOST);
	else
		outlet_send(out, packet, now_ns);
}

const struct stage_ops stage_burst = {
	.name = "burst",
	.state_size = sizeof(struct burst),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
