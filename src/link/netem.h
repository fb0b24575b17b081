/* The tc commands that shape with netem, and what tc's words mean when it fails. No I/O. */
#ifndef LINK_NETEM_H
#define LINK_NETEM_H

#include <stdint.h>

#include "link/profile.h"

#define NETEM_ARGS 48
#define NETEM_TEXTS 15
#define NETEM_TEXT 32
#define NETEM_COMMANDS_MAX 2

/* An argument list for tc, with the memory for the numbers in it. */
struct netem_args {
	const char *argv[NETEM_ARGS]; /* ends with NULL */
	char texts[NETEM_TEXTS][NETEM_TEXT];
};

/* The commands, in this order, that shape packets which leave by `device`:
 *
 *   tc qdisc add dev DEVICE root netem …
 *   tc qdisc add dev DEVICE parent 1:1 … tbf …     where a queue is bounded in bytes
 *
 * Every number has its unit; what is zero is left out; `limit` never is. `seed` NULL: this tc
 * has no such word. Returns how many commands there are. */
int netem_commands(const char *device, const struct impairment *path, const uint64_t *seed,
	struct netem_args commands[static NETEM_COMMANDS_MAX]);

/* netem has no queue bounded in bytes; behind it a token bucket (tbf) can have one. How many
 * bytes that bucket holds, which leave at once after a pause; 0: no bucket is needed. */
int64_t netem_bucket_bytes(const struct impairment *path);

/* What netem is told to keep to, in bits per second; 0: nothing. */
int64_t netem_rate_bps(const struct impairment *path);

/* Why tc failed. It exits 2 in every case, so only its words tell. */
enum netem_fault {
	NETEM_NO_QDISC,      /* the kernel has no such qdisc */
	NETEM_NO_PRIVILEGE,  /* no CAP_NET_ADMIN here */
	NETEM_NO_DUPLICATES, /* the kernel refuses `duplicate` in this tree of qdiscs */
	NETEM_NO_TABLE,      /* tc has no table of this distribution */
	NETEM_UNKNOWN_WORD,  /* tc is older than the setting */
	NETEM_REFUSED,       /* the kernel refuses a value */
	NETEM_OTHER,
};
enum netem_fault netem_fault(const char *words);

#endif
