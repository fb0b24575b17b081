/* The answer in a sentence or two: what a new connection costs at each round trip time. */
#ifndef REPORT_HEADLINE_H
#define REPORT_HEADLINE_H

#include "report/group.h"
#include "report/page.h"

/* Append a list, made from what the groups hold; a plain item about the first timed
 * metric when none of the questions the table knows can be answered; nothing without figures.
 */
void report_headline(
	const struct report_group *groups, size_t count, const struct report_page *page);

#endif
