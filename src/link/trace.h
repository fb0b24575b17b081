/* A recorded link: the times at which it took a packet, in mahimahi's format. */
#ifndef LINK_TRACE_H
#define LINK_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TRACE_BYTES                                                                            \
	1500 /* what one delivery takes with it: a full packet, or several small               \
	      */

/* From the end the trace starts again: the time of the last delivery is its length. */
struct trace {
	int64_t *at_ns; /* of each delivery, in order; several may share one time */
	size_t count;   /* at least 1 */
	int64_t length_ns;
};

#define TRACE_FILE_MAX ((size_t)64 << 20) /* bytes */

/* Read `len` bytes at `text`: one whole number of milliseconds a line, none less than the one
 * before, the last above 0. NULL with "file:line: message" otherwise; `file` is only a name.
 * Release with trace_free(). */
struct trace *trace_parse(const char *file, const char *text, size_t len, struct err *err);

/* NULL is fine. */
void trace_free(struct trace *trace);

/* The longest time without a delivery, the step from the end to the start included. */
int64_t trace_longest_gap_ns(const struct trace *trace);

/* Bits a second over the whole length. */
int64_t trace_mean_bps(const struct trace *trace);

#endif
