/* A run directory: made once, never reused, and found again as `latest`. */
#ifndef RUN_RUNDIR_H
#define RUN_RUNDIR_H

#include "base/err.h"
#include "run/matrix.h"

/* Make OUTPUT/<UTC time>-<matrix>, with copies of the matrix and of its profiles inside, and
 * let the cells' profiles point at the copies. Two runs in one second get different names.
 * Returns the path (absolute, free() it), or NULL with nothing made. */
char *rundir_create(const char *output, struct matrix *matrix, struct err *err);

/* Keep other runs out of the run directory `dir` until the descriptor that is returned is
 * closed, or this process has ended. -1 when one is under way there. */
int rundir_lock(const char *dir, struct err *err);

/* Let OUTPUT/latest lead to the run directory `dir`, which lies in OUTPUT. */
int rundir_set_latest(const char *output, const char *dir, struct err *err);

/* The last component of a path. */
const char *rundir_name(const char *dir);

#endif
