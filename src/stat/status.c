/* The names of the statuses. */
#include "stat/status.h"

#include <string.h>

static const char *const names[STATUSES] = {
	[STATUS_OK] = "ok",
	[STATUS_SKIPPED] = "skipped",
	[STATUS_UNSUPPORTED] = "unsupported",
	[STATUS_INVALID_LINK] = "invalid_link",
	[STATUS_TIMEOUT] = "timeout",
	[STATUS_FAILED] = "failed",
};

const char *
status_name(enum cell_status status)
{
	return names[status];
}

int
status_find(const char *name, enum cell_status *status)
{
	for (int i = 0; i < STATUSES; i++) {
		if (!strcmp(names[i], name)) {
			*status = (enum cell_status)i;
			return 0;
		}
	}
	return -1;
}
