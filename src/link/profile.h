/* A profile: a named link, read from one file under netem/. Data only; nothing here shapes. */
#ifndef LINK_PROFILE_H
#define LINK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct trace;

/* Directions as the client sees them. */
enum direction { UP, DOWN, DIRECTIONS };

/* How jitter is spread around the delay: tc-netem's names and tables. */
enum distribution {
	DISTRIBUTION_UNIFORM,      /* +- jitter_ns */
	DISTRIBUTION_NORMAL,       /* jitter_ns is the standard deviation */
	DISTRIBUTION_PARETO,       /* heavy tail: shape 3, scaled and centred as tc's table */
	DISTRIBUTION_PARETONORMAL, /* a quarter normal, three quarters pareto */
};

/* Loss in bursts: two states, of which the bad one loses more (Gilbert 1960, Elliott 1963;
 * tc-netem's gemodel). What becomes of a packet hangs on the state it meets; after it the
 * state may change. In parts per billion. */
struct gemodel {
	int64_t to_bad_ppb;    /* p: from good to bad, after a packet */
	int64_t to_good_ppb;   /* r: back; 1/r is the mean length of a bad spell */
	int64_t bad_loss_ppb;  /* 1-h: what the bad state loses */
	int64_t good_loss_ppb; /* 1-k: what the good state loses */
};

/* What happens to packets of one direction. 0 everywhere: nothing. */
struct impairment {
	int64_t delay_ns;  /* one way */
	int64_t jitter_ns; /* around the delay; order kept unless reorder_ppm; at most delay_ns
			    */
	enum distribution distribution;
	int64_t loss_ppm; /* share lost in the long run, 0 .. 1,000,000 */
	bool bursts;      /* lost as `gemodel` says, else each packet by itself */
	struct gemodel gemodel;
	int64_t duplicate_ppm; /* sent on twice */
	int64_t corrupt_ppm;   /* one bit flipped */
	int64_t reorder_ppm;   /* sent on at once, ahead of those that are delayed … */
	int64_t reorder_gap;   /* … of each gap-th and later since the last one; 1: of all */
	int64_t rate_bps;      /* bits per second on the wire (IP packets); 0: unlimited */
	const struct trace
		*trace;        /* when the link takes packets, in place of a rate; or NULL */
	int64_t queue_bytes;   /* waiting for the rate or trace; 0: no bound but `limit` */
	int64_t limit_packets; /* held in all; 0: sized from the bandwidth-delay product */
};

/* From `at_ns` after the start of the link's clock on, the link is like this. */
struct change {
	int64_t at_ns;
	struct impairment path[DIRECTIONS];
};

struct profile {
	char *name;    /* of the file, without folder and .yaml */
	char *file;    /* as it was opened */
	char *text;    /* the file's bytes, for the manifest */
	bool loopback; /* no link: both halves on one loopback interface */
	bool cold;     /* neighbours are not known to each other: the first exchange asks */
	struct impairment path[DIRECTIONS];
	struct change *changes; /* by time */
	size_t change_count;
	struct trace *trace; /* owned; path[].trace and changes point here */
	char *trace_name;    /* of its file, which lies beside `file` */
	char *trace_text;    /* that file's bytes */
};

/* Read `file`. -1 with "file:line:column: message" on anything that is not a valid profile.
 *
 *   schema: 1
 *   rtt: 50ms            the whole round trip, half of it each way (an odd ns goes up)
 *   jitter: 5ms          with distribution: uniform | normal | pareto | paretonormal
 *   loss: 1%             with burst: N, the mean length of a burst of lost packets
 *   gemodel: {p, r, bad, good}    in place of loss: see struct gemodel
 *   duplicate, corrupt, reorder (with gap: N)
 *   rate: 10mbit         with queue: 64kib; or trace: FILE (see trace.h)
 *   limit: 1000
 *   up:, down:           mappings with delay (one way, in place of rtt) and all of the others;
 *                        they win over the keys above
 *   changes:             a list of {at: 5s, …any of the above}: each starts from the one before
 *   cold: true           neighbours (ARP, ND) are left to be asked for
 *   loopback: true       in place of all of these
 */
int profile_read(const char *file, struct profile *profile, struct err *err);

/* The same from memory: `len` bytes and a NUL behind them; `file` gives the name. */
int profile_parse(const char *file, const char *text, size_t len, struct profile *profile,
	struct err *err);

void profile_free(struct profile *profile);

/* The round trip the profile states: both delays; 0 for loopback. */
int64_t profile_rtt_ns(const struct profile *profile);

/* The longest that a packet of `bytes` takes on an idle link beside its delay: to be sent at
 * the rate, or to wait for the trace to take it. */
int64_t impairment_wait_ns(const struct impairment *path, int64_t bytes);

/* May a queue of this direction drop packets, now or after some change? One that nobody bounded
 * holds all that is in flight (impairment_limit()); with a rate, a trace or a limit it may
 * fill. */
bool profile_may_drop(const struct profile *profile, enum direction direction);

/* The key of something that only our emulator can do, or NULL. */
const char *profile_emulator_key(const struct profile *profile);

/* What share of packets does not arrive intact, parts per million: lost, or corrupted, which a
 * checksum finds. */
int64_t impairment_missing_ppm(const struct impairment *path);

/* `limit_packets` when set, else a queue that can hold what is in flight: at least 1000
 * packets, and twice the packets of 1500 bytes that rate (or 10 Gbit/s when unlimited, capped
 * at 1,000,000) x (delay + jitter) hold. */
int64_t impairment_limit(const struct impairment *path);

#endif
