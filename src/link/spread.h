/* How far from its mean a random delay falls: tables of the distributions that tc-netem has. */
#ifndef LINK_SPREAD_H
#define LINK_SPREAD_H

#include <stdint.h>

#include "base/rng.h"
#include "link/profile.h"

#define SPREAD_COUNT 4096
#define SPREAD_SCALE 8192 /* netem's NETEM_DIST_SCALE */

/* An inverse distribution function at evenly spaced shares, in units of sigma / SPREAD_SCALE.
 */
struct spread {
	int16_t values[SPREAD_COUNT];
};

/* The table of a distribution, made when first asked for; NULL for the uniform one, which needs
 * none. It holds whole numbers, so that delays are the same on every machine. */
const struct spread *spread_of(enum distribution distribution);

/* A random value of it, `sigma_ns` wide: one draw. */
int64_t spread_draw(const struct spread *spread, struct rng *rng, int64_t sigma_ns);

#endif
