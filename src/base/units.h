/* Durations, rates, percentages and sizes: one table to read and to print them.
 *
 * Every value carries its unit ("50ms", "10mbit", "1.5%", "64kib"); a bare number is an error,
 * because nobody can see what it means. Reading and printing never depend on the locale. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

#include "base/err.h"

#define UNITS_TEXT_SIZE 32

enum unit_kind {
	UNIT_DURATION, /* ns, us, ms, s, m, h -> nanoseconds */
	UNIT_RATE,     /* bit, kbit, mbit, gbit (powers of 1000) -> bits per second */
	UNIT_PERCENT,  /* % -> parts per million: 1% is 10,000 */
	UNIT_SIZE,     /* b, kib, mib, gib (powers of 1024), kb, mb, gb (of 1000) -> bytes */
};

/* Read all of `text`; fractions are allowed ("0.5ms"), signs are not, and the result must be a
 * whole number of base units. Returns 0, or -1 with an error that names the text and an
 * example of what was expected. */
int units_parse(enum unit_kind kind, const char *text, int64_t *value, struct err *err);

/* Print exactly, in the largest unit of at least 1 that needs at most three decimals: 500000 ns
 * is "500us", 1500 ms is "1.5s". Parsing the result gives `value` again. */
void units_format(enum unit_kind kind, int64_t value, char out[static UNITS_TEXT_SIZE]);

/* A whole number in decimal, 0 .. INT64_MAX, nothing before or behind it. */
int units_parse_count(const char *text, int64_t *value, struct err *err);

/* Nanoseconds for people, three significant digits: "16.7 us", "50.2 ms", "1.02 s". */
void units_format_short(int64_t ns, char out[static UNITS_TEXT_SIZE]);

#endif
