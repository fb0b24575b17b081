/* What a reader needs to know of the machine and the build to judge a figure. */
#ifndef RUN_FACTS_H
#define RUN_FACTS_H

#include <jansson.h>

#include "run/catalogue.h"
#include "run/matrix.h"
#include "run/runtime.h"

/* The "system" object of the manifest: kernel, CPU, cores, clock source, sysctls, library
 * versions, git commit, SHA-256 of rttlink, of every probe and of every `command:`, as the
 * runtime runs them: with docker those in its images, whose ids are there too. What cannot be
 * found out is null. The caller owns the reference. */
json_t *facts_collect(const struct runtime *runtime, const struct catalogue *catalogue,
	const struct matrix *matrix);

/* Now, as RFC 3339 in UTC with seconds: "2026-11-30T17:00:00Z". */
#define FACTS_TIME_SIZE 32
void facts_time(char out[static FACTS_TIME_SIZE]);

#endif
