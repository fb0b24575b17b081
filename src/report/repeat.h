/* What one repeat of a cell left behind: its outcome and, when that is ok, its samples. */
#ifndef REPORT_REPEAT_H
#define REPORT_REPEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model.h"

/* Zero-initialise; release with report_repeat_free(). */
struct report_repeat {
	enum cell_status status;
	bool has_status;
	char *reason; /* of a status that is not ok */
	char *runtime, *link;
	struct report_metrics metrics; /* each pool is one unended repeat */
	struct stat_pool echo;
	int64_t packets[2], lost[2]; /* up, down */
	bool has_packets[2];
	char *congestion;

	/* While reading. */
	const char *half;      /* "client" or "server" */
	size_t client_metrics; /* those before this index are the client's */
	size_t last;           /* index of the metric that was added to last */
};

/* Read the repeat in `folder`. A repeat said to be ok whose records are damaged, or on a linked
 * cell whose link was not measured, gets the status and reason it deserves. Returns 1 when it
 * was read, 0 when it never finished (no outcome.txt), -1 when a file cannot be read. */
int report_repeat_read(
	const char *folder, bool loopback, struct report_repeat *repeat, struct err *err);

/* Give it another status, with a reason. */
void report_repeat_fail(struct report_repeat *repeat, enum cell_status status, const char *fmt,
	...) __attribute__((format(printf, 3, 4)));

void report_repeat_free(struct report_repeat *repeat);

#endif
