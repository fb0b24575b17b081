/* Corruption: one bit of some packets is flipped, anywhere from the IP header to the end. */
#include "link/stage.h"

#define MILLION 1000000

struct corrupt {
	struct rng rng;
	uint64_t ppm;
};

static bool
wanted(const struct impairment *path)
{
	return path->corrupt_ppm > 0;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct corrupt *corrupt = state;

	corrupt->rng = *rng;
	corrupt->ppm = (uint64_t)path->corrupt_ppm;
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	struct corrupt *corrupt = state;
	bool hit = rng_below(&corrupt->rng, MILLION) < corrupt->ppm;
	/* Drawn for every packet and without regard to its length, so that lengths have no say
	 * in the fates of later ones. */
	uint64_t draw = rng_next(&corrupt->rng);

	if (hit && packet->len) {
		uint64_t bit = draw % (packet->len * UINT64_C(8));

		packet->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		outlet_mark(out, packet, PACKET_CORRUPTED);
	}
	outlet_send(out, packet, now_ns);
}

const struct stage_ops stage_corrupt = {
	.name = "corrupt",
	.state_size = sizeof(struct corrupt),
	.wanted = wanted,
	.start = start,
	.pass = pass,
};
