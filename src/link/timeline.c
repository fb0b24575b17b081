/* Changes are applied when the first packet comes that they matter to, so nobody has to wake
 * for them. */
#include "link/timeline.h"

static void
look_ahead(struct timeline *timeline)
{
	timeline->due_ns = timeline->next < timeline->count
				   ? timeline->start_ns +
					     timeline->changes[timeline->next].at_ns
				   : INT64_MAX;
}

void
timeline_set(struct timeline *timeline, const struct change *changes, size_t count)
{
	*timeline = (struct timeline){.changes = changes, .count = count, .due_ns = INT64_MAX};
}

void
timeline_start(struct timeline *timeline, int64_t now_ns)
{
	timeline->start_ns = now_ns;
	timeline->next = 0;
	look_ahead(timeline);
}

void
timeline_stop(struct timeline *timeline)
{
	timeline->due_ns = INT64_MAX;
}

void
timeline_apply(struct timeline *timeline, struct chain *const chains[static DIRECTIONS],
	int64_t now_ns)
{
	while (timeline->due_ns <= now_ns) {
		const struct change *change = &timeline->changes[timeline->next++];

		for (enum direction i = UP; i < DIRECTIONS; i++)
			chain_change(chains[i], &change->path[i], timeline->next);
		look_ahead(timeline);
	}
}
