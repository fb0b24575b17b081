/* What a person sees on stderr while a run goes on. */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "run/verdict.h"

/* On a terminal one live line; elsewhere one line a turn. Colour unless NO_COLOR is set. */
struct progress {
	FILE *out;
	bool quiet, live, colour;
	size_t total, done;
	int64_t start_ns;
};

void progress_start(struct progress *progress, size_t total, bool quiet);

/* A line that stays, whatever the mode but quiet: which runtime, where the results are … */
void progress_note(struct progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Turn `id` #`repeat` ended. `reason` may be "". */
void progress_turn(struct progress *progress, const char *id, int64_t repeat,
	enum cell_status status, const char *reason, int64_t took_ns);

/* Draw the live line: what runs now, and the time left (negative: not known). */
void progress_draw(struct progress *progress, const char *now, size_t running, int64_t left_ns);

/* Take the live line away. */
void progress_end(struct progress *progress);

#endif
