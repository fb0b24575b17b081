/* What the cells of one profile measured of their link, taken together. */
#ifndef REPORT_LINK_H
#define REPORT_LINK_H

#include "report/model.h"

struct report_link {
	size_t cells;                                      /* that measured it */
	struct stat_optional median_ns, least_ns, most_ns; /* of the cells' round trips */
	struct stat_optional lost_ppm;
};

void report_link_measure(
	const struct report *report, const char *profile, struct report_link *link);

#endif
