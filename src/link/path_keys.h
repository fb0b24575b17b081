/* The keys of a profile that say what happens to packets, for both directions or for one: how
 * they are read, and what they come to together. */
#ifndef LINK_PATH_KEYS_H
#define LINK_PATH_KEYS_H

#include <stddef.h>

#include "base/clock.h"
#include "conf/table.h"
#include "link/profile.h"

#define PROFILE_DELAY_MAX_NS (60 * NS_PER_S) /* of a round trip, and of one way */
#define PROFILE_RATE_MIN_BPS INT64_C(1000)
#define PROFILE_RATE_MAX_BPS INT64_C(100000000000)
#define PROFILE_PACKETS_MAX INT64_C(1000000)
#define PROFILE_BURST_MAX 1000
#define PROFILE_GAP_MAX 100000
#define PROFILE_QUEUE_MIN 1500 /* one full packet */
#define PROFILE_QUEUE_MAX (INT64_C(1) << 30)
#define PROFILE_SHARE_MAX INT64_C(1000000) /* parts per million */

struct path_keys {
	struct conf_number delay, jitter, loss, burst, duplicate, corrupt, reorder, gap, rate,
		queue, limit;
	const struct conf_node *distribution, *gemodel;
};

/* Rows of a table that fills struct path_keys; `in(member)` is the member's offset. */
/* clang-format off */
#define PATH_KEYS_ROWS(in)                                                                      \
	{"jitter",       CONF_DURATION, in(jitter),       false, 0, PROFILE_DELAY_MAX_NS},      \
	{"distribution", CONF_WORD,     in(distribution), false, 0, 0},                         \
	{"loss",         CONF_PERCENT,  in(loss),         false, 0, PROFILE_SHARE_MAX},         \
	{"burst",        CONF_COUNT,    in(burst),        false, 1, PROFILE_BURST_MAX},         \
	{"gemodel",      CONF_MAPPING,  in(gemodel),      false, 0, 0},                         \
	{"duplicate",    CONF_PERCENT,  in(duplicate),    false, 0, PROFILE_SHARE_MAX},         \
	{"corrupt",      CONF_PERCENT,  in(corrupt),      false, 0, PROFILE_SHARE_MAX},         \
	{"reorder",      CONF_PERCENT,  in(reorder),      false, 0, PROFILE_SHARE_MAX},         \
	{"gap",          CONF_COUNT,    in(gap),          false, 1, PROFILE_GAP_MAX},           \
	{"rate",         CONF_RATE,     in(rate),         false, PROFILE_RATE_MIN_BPS,          \
		PROFILE_RATE_MAX_BPS},                                                          \
	{"queue",        CONF_SIZE,     in(queue),        false, PROFILE_QUEUE_MIN,             \
		PROFILE_QUEUE_MAX},                                                             \
	{"limit",        CONF_COUNT,    in(limit),        false, 1, PROFILE_PACKETS_MAX}
/* clang-format on */

/* The table of a mapping for one direction alone: all of these, and delay. */
extern const struct conf_key path_keys_table[];

/* Forget in `keys` what the mapping `map`, which is about to be filled into them, says anew or
 * takes the place of: rtt that of delay, loss that of burst and gemodel, gemodel that of both.
 */
void path_keys_forget(struct path_keys *keys, const struct conf_node *map);

/* What `own`, for one direction (called `name`), and `both` come to; own wins. path->delay_ns
 * and path->trace are set already. -1 with a positioned error when they do not go together. */
int path_keys_apply(const struct conf_doc *doc, const struct path_keys *own,
	const struct path_keys *both, const char *name, struct impairment *path,
	struct err *err);

#endif
