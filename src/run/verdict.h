/* Judges what a repeat left behind: is every record one, and was the link what it claims? */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "link/profile.h"
#include "stat/status.h"

/* Are both outputs made of records only, with no metric in both, and at least one from the
 * client? -1 with the reason, which names the half and the line. */
int verdict_records(const struct buf *client, const struct buf *server, struct err *err);

/* The greatest deviation of the echo's median from the profile's RTT that is believed: 2% or
 * 150 us, whichever is larger, and what each direction adds: half its jitter (all of it when it
 * is not uniform), what a small packet takes at its rate or waits for its trace, and, where
 * many packets overtake, its delay. */
int64_t verdict_tolerance_ns(const struct profile *profile);

/* Judge one output of `rttlink check`. -1 with the reason when the median of the echo is not
 * the profile's RTT, or nothing came back. */
int verdict_echo(const struct buf *check, const struct profile *profile, struct err *err);

/* Judge the counters in the output of `rttlink up`: -1 when packets were lost that no setting
 * of the profile explains: outside the link (up_missed: the machine had no room for them), or
 * by a queue that nobody bounded. */
int verdict_drops(const struct buf *link, const struct profile *profile, struct err *err);

/* The longest stall of the emulator that is believed: 20 ms or 5% of the profile's RTT,
 * whichever is larger. */
int64_t verdict_stall_limit_ns(const struct profile *profile);

/* Judge the longest stall in the output of `rttlink up`: -1 with the reason when packets may
 * have waited unseen for longer than the limit. A link without an emulator tells none. */
int verdict_stalls(const struct buf *link, const struct profile *profile, struct err *err);

/* How late packets may leave the emulator: in the median, half of what the echo may be off (a
 * round trip passes it twice); 99 of 100 less than 0.6 ms or 5% of the profile's RTT. When a
 * packet is due holds its jitter and its wait for the rate already, so neither allows more. */
int64_t verdict_late_p50_limit_ns(const struct profile *profile);
int64_t verdict_late_p99_limit_ns(const struct profile *profile);

/* Judge that in the output of `rttlink up`: -1 with the reason. A link without an emulator
 * tells nothing. */
int verdict_lateness(const struct buf *link, const struct profile *profile, struct err *err);

#endif
