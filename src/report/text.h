/* Figures as text for people and for CSV; never by the locale. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "stat/record.h"

/* With its unit, to be read by people: "16.7 us", "50.2 ms", "1.04 GB/s", "500". */
void report_text_value(struct buf *out, enum record_unit unit, int64_t value);

/* A whole number of its unit, such as the tick of an axis: "10 us", not "10.0 us". */
void report_text_round(struct buf *out, enum record_unit unit, int64_t value);

/* value / base with two decimals; `base` must be positive. */
void report_text_ratio(struct buf *out, int64_t value, int64_t base);

/* value / base with three digits or so and an "x": "1.02x", "13.2x", "3006x". */
void report_text_times(struct buf *out, int64_t value, int64_t base);

/* value / base times 10^decimals, rounded half up; -1 when that does not fit. Neither may be
 * negative, `base` not 0. */
int64_t report_text_scaled(int64_t value, int64_t base, int decimals);

/* scaled / 10^decimals, written with all its decimals. */
void report_text_fixed(struct buf *out, int64_t scaled, int decimals);

/* `text` as valid UTF-8 on one line: control characters become spaces, stray bytes U+FFFD. */
void report_text_clean(struct buf *out, const char *text);

/* Columns `text`, which is UTF-8, takes on a terminal, when no character is a wide one. */
size_t report_text_width(const char *text);

#endif
