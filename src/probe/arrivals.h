/* Which of N numbered messages arrived, when, in what order, and where the others were lost. */
#ifndef PROBE_ARRIVALS_H
#define PROBE_ARRIVALS_H

#include <stdint.h>

#include "base/err.h"

struct arrivals {
	int64_t count;     /* numbers are 0 .. count - 1 */
	int64_t *delay_ns; /* of the first copy of each; -1: none came */
	int64_t next;      /* one more than the highest number so far */
	int64_t delivered; /* numbers of which at least one copy came */
	int64_t in_order;  /* of those, the ones that came behind no later one */
	int64_t duplicates;
};

/* Room for `count` messages, written to once, so that no page is missing later. */
void arrivals_init(struct arrivals *arrivals, int64_t count);
void arrivals_free(struct arrivals *arrivals);

/* A copy of message `number` is here, `delay_ns` after it was sent. -1: there is no such
 * number, or it came before it was sent. */
int arrivals_note(struct arrivals *arrivals, int64_t number, int64_t delay_ns, struct err *err);

/* The sum: of `sent` messages the receive buffer dropped `buffer`; what has not arrived besides
 * is lost in the network. -1 when that does not come out: more were dropped than are missing,
 * or more arrived than were sent. */
int arrivals_close(const struct arrivals *arrivals, int64_t sent, int64_t buffer,
	int64_t *network, struct err *err);

/* How many of `count` delays (-1: lost) are more than twice the least one and 5 ms above that:
 * what waited for another message to be sent again, on any link. */
int64_t arrivals_late(const int64_t *delay_ns, int64_t count);

#endif
