/* A logarithmic axis, in whole numbers: the same bytes on every machine. */
#ifndef REPORT_SCALE_H
#define REPORT_SCALE_H

#include <stdint.h>

struct report_scale {
	int64_t low, high; /* the values at its ends: 1, 2 or 5 times a power of ten */
	int64_t width;     /* how far apart these are drawn */
};

/* The shortest axis that holds both; `least` must be positive, `most` not below it. */
void report_scale_fit(struct report_scale *scale, int64_t least, int64_t most, int64_t width);

/* How far from `low` a value is drawn: 0 to `width`, also of values beyond the ends. */
int64_t report_scale_at(const struct report_scale *scale, int64_t value);

/* The next of 1, 2, 5, 10, 20 … behind one of these; INT64_MAX behind the last. */
int64_t report_scale_next(int64_t tick);

#endif
