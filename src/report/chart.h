/* A picture of a group's medians: a row for each metric and variant, a mark for each profile.
 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "base/buf.h"
#include "report/group.h"

/* Append a figure of the group's samples in that unit as inline SVG, on a logarithmic axis with
 * the round trips of its links marked when they are times. Nothing when there is no such
 * median.
 */
void report_chart(const struct report *report, const struct report_group *group,
	enum record_unit unit, struct buf *out);

#endif
