/* Orders the turns of a run. */
#include "run/schedule.h"

#include <stdlib.h>

#include "base/alloc.h"

bool
schedule_shares(const struct cell *cell, int64_t jobs)
{
	return jobs > 1 && profile_rtt_ns(cell->profile) >= SCHEDULE_SHARED_RTT_NS;
}

/* Append those of the `count` turns at `from` whose sharing is `shares`, in their order. */
static struct turn *
append(struct turn *to, const struct turn *from, size_t count, const struct matrix *matrix,
	int64_t jobs, bool shares)
{
	for (size_t i = 0; i < count; i++)
		if (schedule_shares(&matrix->cells[from[i].cell], jobs) == shares)
			*to++ = from[i];
	return to;
}

void
schedule_make(const struct matrix *matrix, int64_t jobs, struct schedule *schedule)
{
	struct turn *order, *to;
	size_t round = matrix->cell_count;

	*schedule = (struct schedule){.jobs = jobs};
	order = matrix_order(matrix, &schedule->count);
	schedule->turns = alloc_zero(schedule->count, sizeof(*schedule->turns));
	to = schedule->turns;
	for (size_t start = 0; start < schedule->count; start += round) {
		to = append(to, order + start, round, matrix, jobs, false);
		to = append(to, order + start, round, matrix, jobs, true);
	}
	free(order);
}

int64_t
schedule_estimate_ns(const struct schedule *schedule, const struct matrix *matrix, size_t from)
{
	int64_t alone = 0, shared = 0;

	for (size_t i = from; i < schedule->count; i++) {
		const struct cell *cell = &matrix->cells[schedule->turns[i].cell];

		if (schedule_shares(cell, schedule->jobs))
			shared += cell_estimate_ns(cell) + schedule->turn_ns;
		else
			alone += cell_estimate_ns(cell) + schedule->turn_ns;
	}
	return alone + shared / schedule->jobs;
}

void
schedule_free(struct schedule *schedule)
{
	free(schedule->turns);
	*schedule = (struct schedule){0};
}
