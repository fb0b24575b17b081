/* --select, --exclude and --shard: keep some cells of a matrix. */
#include "run/entry.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

/* Set marks[i] for every cell that matches; -1 when none does. */
static int
mark(const struct matrix *matrix, const char *pattern, bool *marks, struct err *err)
{
	bool any = false;

	for (size_t i = 0; i < matrix->cell_count; i++) {
		if (fnmatch(pattern, matrix->cells[i].id, 0))
			continue;
		marks[i] = true;
		any = true;
	}
	if (!any)
		return err_set(err,
			"pattern '%s' matches no cell of %s; its cells are of the form %s",
			pattern, matrix->file, matrix->cells[0].id);
	return 0;
}

static int
mark_all(const struct matrix *matrix, const char *const *patterns, size_t count, bool *marks,
	struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (mark(matrix, patterns[i], marks, err) < 0)
			return -1;
	return 0;
}

/* Drop the cells that are not marked. */
static void
keep(struct matrix *matrix, const bool *marks)
{
	size_t kept = 0;

	for (size_t i = 0; i < matrix->cell_count; i++) {
		if (marks[i])
			matrix->cells[kept++] = matrix->cells[i];
		else
			cell_free(&matrix->cells[i]);
	}
	matrix->cell_count = kept;
}

int
matrix_select(struct matrix *matrix, const char *const *select, size_t select_count,
	const char *const *exclude, size_t exclude_count, struct err *err)
{
	bool *selected = alloc_zero(matrix->cell_count, sizeof(*selected));
	bool *excluded = alloc_zero(matrix->cell_count, sizeof(*excluded));
	size_t kept = 0;
	int status = -1;

	if (mark_all(matrix, select, select_count, selected, err) < 0 ||
		mark_all(matrix, exclude, exclude_count, excluded, err) < 0)
		goto out;
	for (size_t i = 0; i < matrix->cell_count; i++) {
		selected[i] = (selected[i] || !select_count) && !excluded[i];
		kept += selected[i];
	}
	if (!kept) {
		err_set(err, "no cell of %s is left by --select and --exclude", matrix->file);
		goto out;
	}
	keep(matrix, selected);
	status = 0;
out:
	free(selected);
	free(excluded);
	return status;
}

/* "I/N" with 1 <= I <= N. */
static int
parse_shard(const char *shard, int64_t *index, int64_t *count, struct err *err)
{
	const char *slash = strchr(shard, '/');
	char *first = alloc_text_n(shard, slash ? (size_t)(slash - shard) : 0);
	int status = -1;

	if (slash && units_parse_count(first, index, NULL) == 0 &&
		units_parse_count(slash + 1, count, NULL) == 0 && *index >= 1 &&
		*index <= *count)
		status = 0;
	free(first);
	if (status)
		err_set(err, "shard '%s' is not of the form I/N with 1 <= I <= N", shard);
	return status;
}

int
matrix_shard(struct matrix *matrix, const char *shard, struct err *err)
{
	int64_t index, count;
	bool *marks;

	if (parse_shard(shard, &index, &count, err) < 0)
		return -1;
	if (index > (int64_t)matrix->cell_count)
		return err_set(
			err, "shard '%s' of %zu cells is empty", shard, matrix->cell_count);
	marks = alloc_zero(matrix->cell_count, sizeof(*marks));
	for (size_t i = (size_t)index - 1; i < matrix->cell_count; i += (size_t)count)
		marks[i] = true;
	keep(matrix, marks);
	free(marks);
	return 0;
}
