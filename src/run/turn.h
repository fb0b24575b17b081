/* One turn: one repeat of one cell, from fresh namespaces to the records on disk. */
#ifndef RUN_TURN_H
#define RUN_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "run/matrix.h"
#include "run/runtime.h"
#include "run/verdict.h"

struct turn_plan {
	const struct cell *cell;
	int64_t repeat;    /* from 1 */
	int64_t link_seed; /* of the emulator's losses and jitter; differs from repeat to repeat
			    */
	const struct runtime *runtime;
	const char *dir;   /* the run directory */
	const char *awake; /* what keeps the cores awake, or "off" */
	bool shared;       /* other cells run at the same time */
};

/* The folder of one turn inside a run directory; free() it. */
char *turn_folder(const char *dir, const struct cell *cell, int64_t repeat);

/* What outcome.txt says. */
struct turn_outcome {
	enum cell_status status;
	char reason[ERR_TEXT_SIZE]; /* "" when ok */
	bool off_target;            /* nothing broke, but the link was not what it should be */
};

/* Read the outcome in a turn's folder; false when there is none. */
bool turn_read_outcome(const char *folder, struct turn_outcome *outcome);

/* Write one in place of a turn that could not do it itself. */
int turn_write_lost(const struct turn_plan *plan, const char *reason, struct err *err);

/* Run it and leave its folder complete, outcome.txt last. To be called in a process of its own
 * that has called child_catch_stop(). Returns 0 when an outcome was written, whatever it is; 1
 * when we were told to stop (nothing is written then); -1 when results could not be written. */
int turn_run(const struct turn_plan *plan, struct err *err);

#endif
