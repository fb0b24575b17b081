/* matrix.csv: one row a cell and metric. */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include "base/buf.h"
#include "report/model.h"

/* Append one field, quoted when RFC 4180 asks for it, and a comma before it unless it is the
 * first of its line. */
void report_csv_field(struct buf *out, const char *text);

/* Append the rows of one cell. */
void report_csv_cell(struct buf *out, const struct report_cell *cell);

/* Append the header. */
void report_csv_header(struct buf *out);

#endif
