/* How a repeat of a cell ended, as outcome.txt and the CSV say it. */
#ifndef STAT_STATUS_H
#define STAT_STATUS_H

/* From best to worst: a cell has the worst status of its repeats. */
enum cell_status {
	STATUS_OK,
	STATUS_SKIPPED,
	STATUS_UNSUPPORTED,
	STATUS_INVALID_LINK,
	STATUS_TIMEOUT,
	STATUS_FAILED,
	STATUSES,
};

/* "ok", "failed" … */
const char *status_name(enum cell_status status);

/* The status of that name; -1 if there is none. */
int status_find(const char *name, enum cell_status *status);

#endif
