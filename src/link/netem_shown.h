/* What tc shows of a netem: whether it is the one that was asked for, and what it counted. */
#ifndef LINK_NETEM_SHOWN_H
#define LINK_NETEM_SHOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "link/profile.h"

/* Does `json`, the answer to `tc -j -d qdisc show dev …`, show what `path` asks for? -1 when
 * there is no netem (or, for a queue in bytes, no tbf), or one with another limit, delay,
 * jitter, loss, duplication, corruption, reordering, gap or rate. A distribution is a table in
 * the kernel, which tc does not show. */
int netem_confirm(const char *json, const struct impairment *path, struct err *err);

/* Does it show that the kernel took the seed? */
bool netem_has_seed(const char *json);

struct netem_counters {
	int64_t packets; /* that came out, copies included */
	int64_t drops;   /* lost or dropped: netem counts both as one, its child's included */
	int64_t queue_drops; /* of these the child's: a queue in bytes that was full */
};

/* From the answer to `tc -s -j qdisc show dev …`; -1 when there is no netem in it. */
int netem_read_counters(const char *json, struct netem_counters *counters, struct err *err);

/* Of `drops` among `handled` packets, how many the loss setting explains: all, up to what one
 * run in a thousand would exceed. Losses in bursts vary more. */
int64_t netem_explained(int64_t handled, int64_t drops, const struct impairment *path);

/* How many packets were offered, of which netem made `handled` by duplication. netem does not
 * count the copies, so with a duplicate setting this is what is expected, else exact. */
int64_t netem_offered(int64_t handled, const struct impairment *path);

#endif
