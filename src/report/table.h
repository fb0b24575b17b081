/* A table that reads well in a terminal and is one in Markdown: aligned pipes. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define REPORT_COLUMNS_MAX 64

/* Zero-initialise; release with report_table_free(). */
struct report_table {
	char **cells; /* row after row, the header first */
	size_t count, cap;
	size_t columns;
	size_t heads; /* columns at the left that name the row, where the format tells them
			 apart */
	bool right[REPORT_COLUMNS_MAX]; /* numbers stand at the right of their column */
};

/* Add a column, before any row. Columns beyond REPORT_COLUMNS_MAX are not shown. */
void report_table_column(struct report_table *table, const char *title, bool right);

/* Add one cell; rows fill from left to right. */
void report_table_add(struct report_table *table, const char *text);

/* As report_table_add() for text that is now the table's to free. */
void report_table_take(struct report_table *table, char *text);

/* Take away the row that starts with cell number `index`. */
void report_table_remove(struct report_table *table, size_t index);

/* Append the table to `out`, pipes in its text escaped. */
void report_table_print(const struct report_table *table, struct buf *out);

void report_table_free(struct report_table *table);

#endif
