/* When a link changes: the changes of a profile, on a clock that starts when told. */
#ifndef LINK_TIMELINE_H
#define LINK_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "link/chain.h"
#include "link/profile.h"

struct timeline {
	const struct change *changes; /* the caller's */
	size_t count, next;
	int64_t start_ns;
	int64_t due_ns; /* of the next change; INT64_MAX: none is to come, or the clock stands
			 */
};

/* `count` changes, by time; the clock stands. */
void timeline_set(struct timeline *timeline, const struct change *changes, size_t count);

/* Start the clock, or start it again. */
void timeline_start(struct timeline *timeline, int64_t now_ns);

void timeline_stop(struct timeline *timeline);

/* Change both chains as far as is due at `now_ns`. */
void timeline_apply(struct timeline *timeline, struct chain *const chains[static DIRECTIONS],
	int64_t now_ns);

#endif
