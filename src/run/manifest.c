/* Builds manifest.json. */
#include "run/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"
#include "run/awake.h"
#include "run/rundir.h"

static json_t *
profile_json(const struct profile *profile)
{
	char *copy = alloc_printf("netem/%s.yaml", profile->name); /* in the run directory */
	json_t *json = json_pack("{s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I}", "name",
		profile->name, "file", copy, "text", profile->text, "loopback",
		profile->loopback, "rtt_ns", (json_int_t)profile_rtt_ns(profile), "jitter_ns",
		(json_int_t)profile->path[UP].jitter_ns, "loss_up_ppm",
		(json_int_t)profile->path[UP].loss_ppm, "loss_down_ppm",
		(json_int_t)profile->path[DOWN].loss_ppm, "rate_bps",
		(json_int_t)profile->path[DOWN].rate_bps);

	free(copy);
	return json;
}

static json_t *
options_json(const struct settings *settings)
{
	json_t *options = json_object();

	for (size_t i = 0; i < settings->count; i++)
		json_object_set_new(options, settings->items[i].name,
			json_string(settings->items[i].value));
	return options;
}

/* The expectation with the cell's own numbers put in, and as a sentence. */
static json_t *
expect_json(const struct expectation *expect, const struct cell *cell)
{
	static const char *const kinds[] = {"rtts", "equals", "equals", "between"};
	double low = expect->kind == EXPECT_EQUALS_SAMPLES ? (double)cell->samples
							   : expect->low;
	double high = expect->kind == EXPECT_EQUALS_SAMPLES ? low : expect->high;
	char text[160];

	if (expect->kind == EXPECT_RTTS)
		snprintf(text, sizeof(text), "%s takes %.2f to %.2f RTT", expect->metric, low,
			high);
	else if (expect->kind == EXPECT_BETWEEN)
		snprintf(text, sizeof(text), "%s is %.0f to %.0f", expect->metric, low, high);
	else
		snprintf(text, sizeof(text), "%s is %.0f", expect->metric, low);
	return json_pack("{s:s, s:s, s:f, s:f, s:s}", "metric", expect->metric, "kind",
		kinds[expect->kind], "low", low, "high", high, "text", text);
}

static json_t *
cell_json(const struct cell *cell, int64_t jobs)
{
	json_t *expects = json_array();

	for (size_t i = 0; i < cell->expect_count; i++)
		json_array_append_new(expects, expect_json(cell->expects[i], cell));
	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:i, s:I, s:b, s:o}", "id", cell->id,
		"probe", cell->probe, "variant", cell->variant, "options",
		options_json(&cell->options), "profile", cell->profile->name, "family",
		cell->family, "samples", (json_int_t)cell->samples, "shared",
		schedule_shares(cell, jobs), "expect", expects);
}

json_t *
manifest_cells(const struct matrix *matrix, int64_t jobs)
{
	json_t *cells = json_array();

	for (size_t i = 0; i < matrix->cell_count; i++)
		json_array_append_new(cells, cell_json(&matrix->cells[i], jobs));
	return cells;
}

static json_t *
order_json(const struct manifest_facts *facts)
{
	json_t *order = json_array();

	for (size_t i = 0; i < facts->schedule->count; i++) {
		const struct turn *turn = &facts->schedule->turns[i];
		char *text = alloc_printf(
			"%s#%" PRId64, facts->matrix->cells[turn->cell].id, turn->repeat);

		json_array_append_new(order, json_string(text));
		free(text);
	}
	return order;
}

static json_t *
build(const struct manifest_facts *facts, const char *end, bool complete)
{
	const struct matrix *matrix = facts->matrix;
	json_t *profiles = json_array();

	for (size_t i = 0; i < matrix->profile_count; i++)
		json_array_append_new(profiles, profile_json(&matrix->profiles[i]));
	return json_pack("{s:i, s:s, s:{s:s, s:s, s:s}, s:o, s:I, s:I, s:s, s:s, s:I, s:s, "
			 "s:{s:s, s:s}, s:s?, s:b, s:o, s:o, s:O}",
		"schema", 1, "run", rundir_name(facts->dir), "matrix", "name", matrix->name,
		"file", matrix->file, "text", matrix->text, "profiles", profiles, "seed",
		(json_int_t)matrix->seed, "repeats", (json_int_t)matrix->repeats, "runtime",
		facts->runtime, "link", facts->link, "jobs", (json_int_t)facts->schedule->jobs,
		"start", facts->start, "awake", "asked", awake_setting_name(matrix->awake),
		"done", facts->awake, "end", end, "complete", complete, "cells",
		manifest_cells(matrix, facts->schedule->jobs), "order", order_json(facts),
		"system", facts->system);
}

int
manifest_write(
	const struct manifest_facts *facts, const char *end, bool complete, struct err *err)
{
	json_t *root = build(facts, end, complete);
	char *path = alloc_printf("%s/manifest.json", facts->dir);
	char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) : NULL;
	int status = -1;

	if (text)
		status = file_write(path, text, strlen(text), err);
	else
		err_set(err, "build %s: text that is not UTF-8", path);
	free(text);
	free(path);
	json_decref(root);
	return status;
}
