/* The tc commands that shape with netem, and what tc's answers mean. No I/O. */
#ifndef LINK_NETEM_H
#define LINK_NETEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "link/profile.h"

#define NETEM_ARGS 32
#define NETEM_TEXT 32

/* An argument list for tc, with the memory for the numbers in it. */
struct netem_args {
	const char *argv[NETEM_ARGS]; /* ends with NULL */
	char texts[8][NETEM_TEXT];
};

/* `tc qdisc add dev DEVICE root netem …` for packets that leave by DEVICE. Every number has its
 * unit; what is zero is left out; `limit` never is. `seed` NULL: this tc has no such word. */
void netem_argv(const char *device, const struct impairment *path, const uint64_t *seed,
	struct netem_args *args);

/* Why tc failed. It exits 2 in every case, so only its words tell. */
enum netem_fault {
	NETEM_NO_QDISC,     /* the kernel has no netem */
	NETEM_NO_PRIVILEGE, /* no CAP_NET_ADMIN here */
	NETEM_OTHER,
};
enum netem_fault netem_fault(const char *words);

/* Does `json`, the answer to `tc -j qdisc show dev …`, show the netem that `path` asks for? -1
 * when there is none, or one with another limit, delay or rate. */
int netem_confirm(const char *json, const struct impairment *path, struct err *err);

/* Does it show that the kernel took the seed? */
bool netem_has_seed(const char *json);

struct netem_counters {
	int64_t packets; /* that came out */
	int64_t drops;   /* lost or dropped: netem counts both as one */
};

/* From the answer to `tc -s -j qdisc show dev …`; -1 when there is no netem in it. */
int netem_read_counters(const char *json, struct netem_counters *counters, struct err *err);

/* Of `drops` among `offered` packets, how many a loss of `loss_ppm` explains: all, up to what
 * one run in a thousand would exceed. */
int64_t netem_explained(int64_t offered, int64_t drops, int64_t loss_ppm);

#endif
