/* Reads back what a run needs to go on. */
#include "run/resume.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "run/awake.h"

/* A pattern that matches `text` and nothing else. */
static char *
escape(const char *text)
{
	struct buf pattern = {0};
	char *copy;

	for (; *text; text++)
		buf_printf(&pattern, strchr("*?[]\\", *text) ? "\\%c" : "%c", *text);
	copy = alloc_text(buf_text(&pattern));
	buf_free(&pattern);
	return copy;
}

static int
take_cells(const json_t *cells, struct resume *resume)
{
	const json_t *cell;
	size_t i;

	resume->patterns = alloc_zero(json_array_size(cells), sizeof(*resume->patterns));
	json_array_foreach(cells, i, cell)
	{
		const char *id = json_string_value(json_object_get(cell, "id"));

		if (!id)
			return -1;
		resume->patterns[resume->pattern_count++] = escape(id);
	}
	return resume->pattern_count ? 0 : -1;
}

/* The members a run wrote; -1 when one is missing or of another type. */
static int
take(json_t *root, struct resume *resume)
{
	const char *file, *runtime, *link, *start, *awake = "off"; /* as it was before */
	json_int_t seed, repeats, jobs;
	json_t *cells;

	if (json_unpack(root, "{s:{s:s}, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s?{s:s}}", "matrix",
		    "file", &file, "runtime", &runtime, "link", &link, "start", &start, "seed",
		    &seed, "repeats", &repeats, "jobs", &jobs, "cells", &cells, "awake",
		    "asked", &awake) < 0 ||
		awake_parse(awake, &resume->awake) < 0)
		return -1;
	resume->file = alloc_text(file);
	resume->runtime = alloc_text(runtime);
	resume->link = alloc_text(link);
	resume->start = alloc_text(start);
	resume->seed = seed;
	resume->repeats = repeats;
	resume->jobs = jobs;
	return take_cells(cells, resume);
}

int
resume_read(const char *dir, struct resume *resume, struct err *err)
{
	char *path = alloc_printf("%s/manifest.json", dir);
	json_error_t where;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	int status = -1;

	resume->matrix = alloc_printf("%s/matrix.yaml", dir);
	if (!root)
		err_set(err, "%s: %s", path, where.text);
	else if (take(root, resume) < 0)
		err_set(err, "%s: not the manifest of a run", path);
	else if (json_is_true(json_object_get(root, "complete")))
		err_set(err, "%s: this run is complete, nothing is left to do", dir);
	else
		status = 0;
	json_decref(root);
	free(path);
	return status;
}

int
resume_apply(const struct resume *resume, struct matrix *matrix, struct err *err)
{
	matrix->seed = resume->seed;
	matrix->repeats = resume->repeats;
	matrix->awake = resume->awake;
	free(matrix->file);
	matrix->file = alloc_text(resume->file);
	return matrix_select(matrix, (const char *const *)resume->patterns,
		resume->pattern_count, NULL, 0, err);
}

void
resume_free(struct resume *resume)
{
	for (size_t i = 0; i < resume->pattern_count; i++)
		free(resume->patterns[i]);
	free(resume->patterns);
	free(resume->matrix);
	free(resume->file);
	free(resume->runtime);
	free(resume->link);
	free(resume->start);
	*resume = (struct resume){0};
}
