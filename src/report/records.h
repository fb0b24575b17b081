/* The files of records in a run directory, line by line. */
#ifndef REPORT_RECORDS_H
#define REPORT_RECORDS_H

#include "base/err.h"
#include "stat/record.h"

enum records_result {
	RECORDS_READ,
	RECORDS_MISSING, /* no such file */
	RECORDS_DAMAGED, /* a line is not a record, or the last one is cut short */
	RECORDS_UNREADABLE,
};

/* Give each record of `folder`/`name` to `take` until it returns -1, which makes the file a
 * damaged one. Errors start with the name of the file and the number of the line. */
enum records_result report_records_read(const char *folder, const char *name,
	int (*take)(const struct record *record, void *context, struct err *err), void *context,
	struct err *err);

#endif
