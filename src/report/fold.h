/* Makes one row of those rows of a table that say the same. */
#ifndef REPORT_FOLD_H
#define REPORT_FOLD_H

#include "report/table.h"

/* The rows from cell number `first` on are one count's, a row a variant: the name, the variant,
 * figures, and last what was expected of it. When no two differ where both have something they
 * become one row, "all". Else the largest set of alike rows of which nothing was expected
 * becomes "all others". An empty field is alike to any. */
void report_fold(struct report_table *table, size_t first);

#endif
