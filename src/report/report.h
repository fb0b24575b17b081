/* From the raw records of run directories to matrix.csv, summary.md, report.html and
 * comparisons. Everything here can be built again at any time; the records are only read. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"

struct report;

/* What an exit status is decided from. */
struct report_totals {
	size_t cells;
	size_t ok, failed, timeout, invalid_link, unsupported, skipped; /* cells, by status */
	size_t repeats_planned, repeats_done, repeats_ok;
	size_t repeats_discarded;      /* and run again */
	size_t held, broken, unjudged; /* expectations */
};

/* Read one run directory, or several that are shards of one run. NULL with an error when a
 * manifest cannot be read, a file is there but not readable, or two directories hold the same
 * cell. A damaged record is no error here: its repeat counts as failed and says why. Release
 * with report_free(). */
struct report *report_load(const char *const dirs[], size_t count, struct err *err);

void report_free(struct report *report);

const struct report_totals *report_totals(const struct report *report);

/* Append matrix.csv; the columns are described in results/README.md. */
void report_csv(const struct report *report, struct buf *out);

/* Append summary.md, for a terminal as much as for a Markdown viewer. */
void report_summary(const struct report *report, struct buf *out);

/* Append report.html: the same as a page that needs nothing but itself, with pictures. */
void report_html(const struct report *report, struct buf *out);

/* Write matrix.csv, summary.md and report.html into `dir`, each in one step. */
int report_write(const struct report *report, const char *dir, struct err *err);

/* Print two runs side by side, metric by metric: a table for people or, with `csv`, CSV. */
int report_compare(const char *dir_a, const char *dir_b, bool csv, FILE *out, struct err *err);

#endif
