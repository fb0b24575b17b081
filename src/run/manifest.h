/* manifest.json: everything a run was, written before its first cell and again at its end. */
#ifndef RUN_MANIFEST_H
#define RUN_MANIFEST_H

#include <jansson.h>

#include "base/err.h"
#include "run/matrix.h"
#include "run/schedule.h"

struct manifest_facts {
	const char *dir; /* the run directory */
	const struct matrix *matrix;
	const struct schedule *schedule;
	const char *runtime, *link; /* names; link is "none" when no cell has one */
	const char *awake;          /* what kept cores awake in cells that want it, or "off" */
	json_t *system;             /* from facts_collect(); borrowed */
	char start[32];
};

/* Write DIR/manifest.json. `end` is NULL until the run has ended; `complete` says that every
 * turn has an outcome. */
int manifest_write(
	const struct manifest_facts *facts, const char *end, bool complete, struct err *err);

/* The cells as a JSON array: for the manifest and for `list --json`. */
json_t *manifest_cells(const struct matrix *matrix, int64_t jobs);

#endif
