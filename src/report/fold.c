/* Folds rows: counts are mostly the same whatever the variant, and that is one row's worth. */
#include "report/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define VARIANT 1 /* the column; behind it come those that are compared */

/* Take row `b` into row `a`; false, and `a` as it was, when they differ. */
static bool
absorb(const struct report_table *table, const char **a, size_t b)
{
	char **row = table->cells + b;

	for (size_t c = VARIANT + 1; c < table->columns; c++)
		if (*a[c] && *row[c] && strcmp(a[c], row[c]))
			return false;
	for (size_t c = VARIANT + 1; c < table->columns; c++)
		if (!*a[c])
			a[c] = row[c];
	return true;
}

/* Which of the rows from `start` on are alike to that row; returns how many, itself included,
 * and what they say together in `merged`. */
static size_t
gather(const struct report_table *table, size_t start, bool expected, const char **merged,
	bool *member)
{
	size_t count = 0;

	for (size_t c = 0; c < table->columns; c++)
		merged[c] = table->cells[start + c];
	for (size_t i = start, n = 0; i < table->count; i += table->columns, n++) {
		bool bare = !*table->cells[i + table->columns - 1];

		member[n] = (bare || expected) && absorb(table, merged, i);
		count += member[n];
	}
	return count;
}

/* Replace the members by one row, at the end. */
static void
replace(struct report_table *table, size_t start, const char **merged, const bool *member,
	const char *words)
{
	char *copies[REPORT_COLUMNS_MAX];

	for (size_t c = 0; c < table->columns; c++)
		copies[c] = alloc_text(c == VARIANT ? words : merged[c]);
	for (size_t n = (table->count - start) / table->columns; n-- > 0;)
		if (member[n])
			report_table_remove(table, start + n * table->columns);
	for (size_t c = 0; c < table->columns; c++)
		report_table_take(table, copies[c]);
}

void
report_fold(struct report_table *table, size_t first)
{
	size_t rows = (table->count - first) / table->columns, most = 1, best = first;
	const char *merged[REPORT_COLUMNS_MAX];
	bool *member = alloc_zero(rows, sizeof(*member));

	if (rows > 1 && gather(table, first, true, merged, member) == rows) {
		replace(table, first, merged, member, "all");
		goto out;
	}
	for (size_t i = first; i < table->count; i += table->columns) {
		size_t count = *table->cells[i + table->columns - 1]
				       ? 0
				       : gather(table, i, false, merged, member);

		if (count > most) {
			most = count;
			best = i;
		}
	}
	if (most > 1) {
		gather(table, best, false, merged, member);
		replace(table, best, merged, member, "all others");
	}
out:
	free(member);
}
