/* What the link costs by itself, so that it can be taken out of the delay. */
#ifndef LINK_CALIBRATE_H
#define LINK_CALIBRATE_H

#include <stdint.h>

#include "base/err.h"
#include "link/backend.h"
#include "link/profile.h"

struct base_cost {
	int64_t ns[DIRECTIONS]; /* one way */
	int64_t samples;        /* it is the median of */
};

/* When a packet of the echo counts as having come over the link. */
enum arrival {
	ARRIVAL_READ, /* when the echo was woken and has read it, but for part of that waking */
	ARRIVAL_STAMPED, /* when the kernel took it from its device */
};

/* How a link of this profile is to be shaped while it is calibrated: its delays, as far as they
 * make a difference, and nothing else. */
void calibration_path(const struct profile *profile, struct impairment path[static DIRECTIONS]);

/* Measure what packets take over the link, shaped like that, beyond its delay, with the echo on
 * `core` (-1: any): see the top of calibrate.c. Carries the link meanwhile, tells link->info
 * what it found, and takes 30 to 200 ms. */
int calibrate(struct link *link, enum arrival arrival, int core, struct base_cost *cost,
	struct err *err);

/* `path` with `cost_ns` less delay, as far as there is any. */
struct impairment calibrated_path(const struct impairment *path, int64_t cost_ns);

#endif
