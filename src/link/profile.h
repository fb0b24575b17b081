/* A profile: a named link, read from one file under netem/. Data only; nothing here shapes. */
#ifndef LINK_PROFILE_H
#define LINK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Directions as the client sees them. */
enum direction { UP, DOWN, DIRECTIONS };

/* What happens to packets of one direction. 0 everywhere: nothing. */
struct impairment {
	int64_t delay_ns;      /* one way */
	int64_t jitter_ns;     /* +- around the delay, uniform, order kept; at most delay_ns */
	int64_t loss_ppm;      /* each packet by itself, parts per million, 0 .. 1,000,000 */
	int64_t rate_bps;      /* bits per second on the wire (IP packets); 0: unlimited */
	int64_t limit_packets; /* the queue; 0: sized from the bandwidth-delay product */
};

struct profile {
	char *name;    /* of the file, without folder and .yaml */
	char *file;    /* as it was opened */
	char *text;    /* the file's bytes, for the manifest */
	bool loopback; /* no link: both halves on one loopback interface */
	struct impairment path[DIRECTIONS];
};

/* Read `file`. -1 with "file:line:column: message" on anything that is not a valid profile.
 *
 *   schema: 1
 *   rtt: 50ms                  the whole round trip, half of it each way (an odd ns goes up)
 *   jitter, loss, rate, limit  for each direction alike
 *   up:, down:                 mappings with delay (one way, in place of rtt), jitter, loss,
 * rate, limit; they win over the keys above loopback: true             in place of all of these
 */
int profile_read(const char *file, struct profile *profile, struct err *err);

/* The same from memory: `len` bytes and a NUL behind them; `file` gives the name. */
int profile_parse(const char *file, const char *text, size_t len, struct profile *profile,
	struct err *err);

void profile_free(struct profile *profile);

/* The round trip the profile states: both delays; 0 for loopback. */
int64_t profile_rtt_ns(const struct profile *profile);

/* `limit_packets` when set, else a queue that can hold what is in flight: at least 1000
 * packets, and twice the packets of 1500 bytes that rate (or 10 Gbit/s when unlimited, capped
 * at 1,000,000) x (delay + jitter) hold. */
int64_t impairment_limit(const struct impairment *path);

#endif
