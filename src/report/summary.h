/* The sections of summary.md. */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include "base/buf.h"
#include "report/group.h"

/* p50 of every metric and variant of a group, profile by profile. */
void report_side_by_side(const struct report_group *group, struct buf *out);

/* What was expected and what was found; nothing when nothing was expected. */
void report_expected(const struct report *report, struct buf *out);

/* Where and how the runs ran, and what their links measured. */
void report_about(const struct report *report, struct buf *out);

#endif
