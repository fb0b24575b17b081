/* What the link costs by itself, so that it can be taken out of the delay. */
#ifndef LINK_CALIBRATE_H
#define LINK_CALIBRATE_H

#include <stdint.h>

#include "base/err.h"
#include "link/backend.h"
#include "link/ferry.h"
#include "link/profile.h"

struct base_cost {
	int64_t ns[DIRECTIONS]; /* one way */
	int64_t samples;        /* it is the median of */
};

/* Measure what packets take over the ferry beyond the delay they are given, under the
 * conditions of the link's profile, with the echo on `core` (-1: any): see the top of
 * calibrate.c. Takes 30 to 200 ms. Leaves the ferry unshaped. */
int calibrate(struct ferry *ferry, const struct link *link, int core, struct base_cost *cost,
	struct err *err);

/* `path` with `cost_ns` less delay, as far as there is any. */
struct impairment calibrated_path(const struct impairment *path, int64_t cost_ns);

#endif
