/* The lines a probe (and rttlink) prints on stdout: docker/CONTRACT.md, read and written. */
#ifndef STAT_RECORD_H
#define STAT_RECORD_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define RECORD_NAME_SIZE 48 /* a name and its NUL: [a-z][a-z0-9_]* */

enum record_unit { RECORD_NS, RECORD_BYTES, RECORD_BYTES_PER_S, RECORD_COUNT_UNIT };

enum record_kind {
	RECORD_SAMPLE, /* sample NAME UNIT VALUE: one measurement */
	RECORD_COUNT,  /* count NAME VALUE: a total of the run */
	RECORD_INFO,   /* info NAME TEXT: what was in force */
	RECORD_READY,  /* ready TEXT: the address a server accepts on */
};

struct record {
	enum record_kind kind;
	enum record_unit unit; /* RECORD_SAMPLE, and RECORD_COUNT_UNIT for RECORD_COUNT */
	char name[RECORD_NAME_SIZE];
	int64_t value;
	const char *text; /* RECORD_INFO, RECORD_READY: points into the line that was parsed */
};

/* Parse one line without its newline. -1 with an error that quotes the line (shortened). */
int record_parse(const char *line, struct record *record, struct err *err);

/* Give each record of `text` (`len` bytes, every line ended by a newline) to `take`, until it
 * returns -1. -1 then, and at the first line that is not a record, is cut short or holds a NUL;
 * the error starts with "line N". */
int record_each(const char *text, size_t len,
	int (*take)(const struct record *record, void *context, struct err *err), void *context,
	struct err *err);

/* Print one record. Failure shows in ferror(out). In info text, newlines become spaces. */
void record_sample(FILE *out, const char *name, enum record_unit unit, int64_t value);
void record_count(FILE *out, const char *name, int64_t value);
void record_info(FILE *out, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "ns", "bytes", "bytes_per_s", "count". */
const char *record_unit_name(enum record_unit unit);

/* The unit of that name; -1 if there is none. */
int record_unit_find(const char *name, enum record_unit *unit);

#endif
