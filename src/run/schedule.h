/* Which turn runs when, and beside which others. */
#ifndef RUN_SCHEDULE_H
#define RUN_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/matrix.h"

/* A cell of at least this RTT mostly waits and may run beside others; below it, runs alone. */
#define SCHEDULE_SHARED_RTT_NS INT64_C(20000000)

struct schedule {
	struct turn *turns; /* in the order they are started; owned */
	size_t count;
	int64_t jobs;    /* how many may run side by side, at least 1 */
	int64_t turn_ns; /* what the runtime takes for a turn beside cell_estimate_ns() */
};

/* matrix_order(), with the turns of each repeat that must run alone put before those that may
 * share, so that a shared phase is not broken up; with one job the order is left as it is. */
void schedule_make(const struct matrix *matrix, int64_t jobs, struct schedule *schedule);

/* May this cell run beside others when there are `jobs` of them? */
bool schedule_shares(const struct cell *cell, int64_t jobs);

/* About how long the turns from number `from` on take, side by side as planned. */
int64_t schedule_estimate_ns(
	const struct schedule *schedule, const struct matrix *matrix, size_t from);

void schedule_free(struct schedule *schedule);

#endif
