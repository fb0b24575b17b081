/* Going on with a run that was interrupted: what its manifest says it was. */
#ifndef RUN_RESUME_H
#define RUN_RESUME_H

#include <stdint.h>

#include "base/err.h"
#include "run/matrix.h"

/* Zero-initialise; release with resume_free(). */
struct resume {
	char *matrix;         /* DIR/matrix.yaml, the copy that was run */
	char *file;           /* the matrix file it was copied from */
	char *runtime, *link; /* link is "none" when no cell has one */
	char *start;          /* when the run began */
	enum awake_setting awake;
	int64_t seed, repeats, jobs;
	char **patterns; /* of the cells that were selected, for matrix_select() */
	size_t pattern_count;
};

/* Read DIR/manifest.json. -1 when it is not a run's, or the run is complete. */
int resume_read(const char *dir, struct resume *resume, struct err *err);

/* Make a freshly read matrix the one that was run: its cells, seed, repeats and name. */
int resume_apply(const struct resume *resume, struct matrix *matrix, struct err *err);

void resume_free(struct resume *resume);

#endif
