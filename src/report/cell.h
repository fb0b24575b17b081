/* One cell: all its repeats, pooled. */
#ifndef REPORT_CELL_H
#define REPORT_CELL_H

#include "base/err.h"
#include "report/model.h"

/* Read the repeats of `cell` from `run`'s directory and compute its figures. A repeat that was
 * not ok adds no sample. -1 when a file that is there cannot be read. */
int report_cell_read(struct report_run *run, struct report_cell *cell, struct err *err);

#endif
