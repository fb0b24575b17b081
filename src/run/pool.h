/* Runs the turns of a schedule, each in a worker process of its own. */
#ifndef RUN_POOL_H
#define RUN_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "run/awake.h"
#include "run/matrix.h"
#include "run/progress.h"
#include "run/runtime.h"
#include "run/schedule.h"

struct pool_setup {
	const struct matrix *matrix;
	const struct schedule *schedule;
	const struct runtime *runtime;
	const char *dir;
	enum awake_means awake;
};

enum pool_end {
	POOL_DONE,        /* every turn has an outcome */
	POOL_INTERRUPTED, /* a signal stopped us; finished turns are kept */
	POOL_BROKEN, /* results cannot be written: see the error; finished turns are kept */
};

/* Run every turn that has no outcome yet. A worker that dies is a failed turn, not a failed
 * run; a turn whose link was out of tolerance is put aside as REPEAT.discarded-N and run again,
 * at most four times. When this returns, no process that it started is left. */
enum pool_end pool_run(
	const struct pool_setup *setup, struct progress *progress, struct err *err);

#endif
