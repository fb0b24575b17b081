/* Tables of the normal and the Pareto distribution and of their mixture, with the parameters of
 * tc's (iproute2, netem/): shape 3, centred on the mean 1.5 and scaled by 4/3; a quarter normal
 * and three quarters Pareto. No entry lies so close to half a unit that the last bits of erfc()
 * or cbrt() could round it another way: the unit test holds checksums of all three. */
#include "link/spread.h"

#include <math.h>
#include <stdbool.h>

#define STEPS_MAX 50
#define PRECISE 1e-12
#define SQRT_HALF 0.70710678118654752440
#define SQRT_2PI 2.50662827463100050242

static int16_t
clamp(long value)
{
	return (int16_t)(value > INT16_MAX ? INT16_MAX : value < INT16_MIN ? INT16_MIN : value);
}

/* Where the normal distribution reaches `share`, from `x` on by Newton's method. */
static double
inverse_normal(double share, double x)
{
	double step = 1;

	for (int i = 0; i < STEPS_MAX && fabs(step) > PRECISE; i++) {
		step = (0.5 * erfc(-x * SQRT_HALF) - share) * SQRT_2PI * exp(x * x / 2);
		x -= step;
	}
	return x;
}

static long
pareto(double share)
{
	return lrint((1 / cbrt(share) - 1.5) * 4 / 3 * SPREAD_SCALE);
}

static void
fill(struct spread tables[static DISTRIBUTION_PARETONORMAL + 1])
{
	double x = -4;

	for (int k = 0; k < SPREAD_COUNT; k++) {
		long tail = clamp(pareto((double)(SPREAD_COUNT - k) / SPREAD_COUNT)), bell;

		/* Entry k of tc's stands for the shares that round to 4k of 16384, and is their
		 * upper end. */
		x = inverse_normal((4 * k + 0.5) / (4 * SPREAD_COUNT), x);
		bell = lrint(x * SPREAD_SCALE);
		tables[DISTRIBUTION_NORMAL].values[k] = clamp(bell);
		tables[DISTRIBUTION_PARETO].values[k] = clamp(tail);
		tables[DISTRIBUTION_PARETONORMAL].values[k] = clamp((bell + 3 * tail) / 4);
	}
}

const struct spread *
spread_of(enum distribution distribution)
{
	static struct spread tables[DISTRIBUTION_PARETONORMAL + 1];
	static bool filled;

	if (distribution == DISTRIBUTION_UNIFORM)
		return NULL;
	if (!filled) {
		fill(tables);
		filled = true;
	}
	return &tables[distribution];
}

int64_t
spread_draw(const struct spread *spread, struct rng *rng, int64_t sigma_ns)
{
	int64_t x = sigma_ns * spread->values[rng_below(rng, SPREAD_COUNT)];

	return (x + (x < 0 ? -SPREAD_SCALE / 2 : SPREAD_SCALE / 2)) / SPREAD_SCALE;
}
