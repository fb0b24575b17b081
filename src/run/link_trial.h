/* Tries a link backend where a runtime puts its links: by making a link there. */
#ifndef RUN_LINK_TRIAL_H
#define RUN_LINK_TRIAL_H

#include "run/backends.h"
#include "run/runtime.h"

/* Fills `answer` with whether it works or why not. -1 when it could not be tried. */
int link_trial(const struct runtime *runtime, const char *backend,
	struct backend_answer *answer, struct err *err);

#endif
