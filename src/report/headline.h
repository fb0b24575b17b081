/* The answer in a sentence or two: what a new connection costs at each round trip time. */
#ifndef REPORT_HEADLINE_H
#define REPORT_HEADLINE_H

#include "base/buf.h"
#include "report/group.h"

/* Append Markdown list items, from what the groups hold; a plain one about the first timed
 * metric when none of the questions the table knows can be answered; nothing without figures.
 */
void report_headline(const struct report_group *groups, size_t count, struct buf *out);

#endif
