/* What becomes of the packets of a link, without a link: the stages on a clock of their own. */
#ifndef LINK_FATES_H
#define LINK_FATES_H

#include <stdint.h>

#include "link/profile.h"
#include "link/stage.h"

struct fates_plan {
	const struct profile *profile;
	uint64_t seed;
	int64_t count;       /* packets … */
	int64_t interval_ns; /* … so far apart, the first when the link's clock starts … */
	uint32_t len;        /* … of so many bytes, PACKET_MAX at most */
};

struct fate {
	enum direction direction;
	int64_t number; /* of the packet, from 1; a copy has that of its original */
	enum packet_fate fate;
	int64_t delay_ns; /* when PACKET_SENT */
	uint32_t marks;   /* of enum packet_mark */
};

/* Give `take` the fates of both directions, each in the order of its packets; behind a packet
 * that of its copy, if it has one. They are those of a link made by the backend tun with this
 * seed; its delays are shorter by what calibration found. */
void fates_each(const struct fates_plan *plan,
	void (*take)(void *context, const struct fate *fate), void *context);

#endif
