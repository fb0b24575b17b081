/* The container engine, through its command line: docker or what DOCKER in the environment
 * names (podman). */
#ifndef RUN_ENGINE_H
#define RUN_ENGINE_H

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"

#define ENGINE_LABEL "rttmatrix.run" /* on every container and volume; its value is a mark */

/* Name or path of its program. */
const char *engine_program(void);

/* Run it with these arguments (the first is its subcommand; NULL ends) for at most 20 s. 0 with
 * what it printed on stdout in `out`, which may be NULL; -1 with its reason, and with errno 0
 * when it was there and failed, or did not answer. */
int engine_run(const char *const arguments[], struct buf *out, struct err *err);

/* Does an engine answer? Its version to `out`; -1 with what is missing and what mends it. */
int engine_version(struct buf *out, struct err *err);

/* What went wrong in what it said on stderr: the last line that is no pointer to --help. free()
 * it. */
char *engine_reason(const struct buf *text);

/* Remove containers, volumes and networks that carry our label with this `mark`, or, with NULL,
 * with the mark of a runner that is gone. Says on `out` (may be NULL) what it removed. -1 when
 * the engine does not answer. */
int engine_sweep(const char *mark, FILE *out, struct err *err);

#endif
