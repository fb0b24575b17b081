/* The sections of a report on runs, whatever the format of the page. */
#ifndef REPORT_SECTIONS_H
#define REPORT_SECTIONS_H

#include <stdbool.h>

#include "base/buf.h"
#include "report/group.h"
#include "report/page.h"

/* How many cells were ok and expectations held, and what else came of the others. */
void report_outcome(const struct report *report, const struct report_page *page);

/* Cells that are not ok, broken expectations, what was not run; nothing when all is well. */
void report_unexpected(const struct report *report, const struct report_page *page);

/* "handshake over IPv6"; free() it. */
char *report_group_title(const struct report_group *group);

/* The settings all variants share, which the tables leave out. */
void report_group_settings(const struct report_group *group, const struct report_page *page);

/* Which metrics: those with samples, those that are one total a repeat, or both. */
enum report_rows { ROWS_SAMPLES = 1, ROWS_COUNTS = 2, ROWS_ALL = 3 };

bool report_group_has(const struct report_group *group, enum report_rows rows);

/* p50 of these metrics, metric and variant a row, profile by profile. */
void report_side_by_side(const struct report_group *group, enum report_rows rows,
	const struct report_page *page);

/* One figure as it stands there: a median with its interval, "100.1 ms ±0.2%"; a count, or its
 * range over the repeats, "12..14". */
void report_figure(const struct report_metric *metric, struct buf *out);

/* How many samples the medians are of. */
void report_group_sizes(const struct report_group *group, const struct report_page *page);

/* What the figures of these tables mean. */
void report_notes(const struct report_page *page);

/* What was expected and what was found; nothing when nothing was expected. */
void report_expected(const struct report *report, const struct report_page *page);

/* Every cell: its status, how many repeats were ok, and what became of its expectations. */
void report_cells(const struct report *report, const struct report_page *page);

/* What the links measured against what their profiles state; nothing without links. */
void report_links(const struct report *report, const struct report_page *page);

/* Where and how the runs ran, as items of a list. */
void report_about(const struct report *report, const struct report_page *page);

#endif
