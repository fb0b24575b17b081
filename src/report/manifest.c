/* manifest.json, read strictly: a run whose plan is unclear has no figures. */
#include "report/manifest.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"

#define MANIFEST_MAX ((size_t)256 << 20)
#define REPEATS_MAX 100000

static int
read_expect(json_t *json, struct report_expect *expect, struct err *err)
{
	static const char *const kinds[] = {[REPORT_RTTS] = "rtts",
		[REPORT_EQUALS] = "equals",
		[REPORT_BETWEEN] = "between"};
	const char *metric, *kind, *text;
	json_error_t why;

	if (json_unpack_ex(json, &why, 0, "{s:s, s:s, s:F, s:F, s:s}", "metric", &metric,
		    "kind", &kind, "low", &expect->low, "high", &expect->high, "text",
		    &text) < 0)
		return err_set(err, "%s", why.text);
	expect->metric = alloc_text(metric);
	expect->text = alloc_text(text);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		expect->kind = (enum report_expect_kind)i;
		if (!strcmp(kinds[i], kind))
			return 0;
	}
	return err_set(err, "'%s' is no kind of expectation", kind);
}

static int
read_expects(json_t *list, struct report_cell *cell, struct err *err)
{
	cell->expects = alloc_zero(json_array_size(list), sizeof(*cell->expects));
	for (size_t i = 0; i < json_array_size(list); i++) {
		cell->expect_count++;
		if (read_expect(json_array_get(list, i), &cell->expects[i], err) < 0)
			return err_prefix(err, "expectation %zu", i + 1);
	}
	return 0;
}

/* Text, whole numbers and truth values of an object; what is deeper stays in the manifest. */
static void
read_facts(json_t *object, struct report_facts *facts)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		char number[32];

		if (json_is_string(value)) {
			report_facts_add(facts, key, json_string_value(value));
		} else if (json_is_integer(value)) {
			snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
				json_integer_value(value));
			report_facts_add(facts, key, number);
		} else if (json_is_boolean(value)) {
			report_facts_add(facts, key, json_is_true(value) ? "yes" : "no");
		}
	}
}

static const struct report_profile *
find_profile(const struct report_run *run, const char *name)
{
	for (size_t i = 0; i < run->profile_count; i++)
		if (!strcmp(run->profiles[i].name, name))
			return &run->profiles[i];
	return NULL;
}

/* Cell ids become paths; one that leads out of the run directory is not ours. */
static bool
id_is_safe(const char *id)
{
	size_t len;

	for (; *id; id += len + (id[len] == '/')) {
		len = strcspn(id, "/");
		if (len == 0 || (len == 1 && id[0] == '.') || !strncmp(id, "../", 3) ||
			!strcmp(id, ".."))
			return false;
	}
	return true;
}

static int
read_cell(json_t *json, struct report_run *run, struct report_cell *cell, struct err *err)
{
	const char *id, *probe, *variant, *profile;
	json_t *options = NULL, *expects = NULL;
	json_int_t samples = 0;
	json_error_t why;

	cell->run = run;
	if (json_unpack_ex(json, &why, 0, "{s:s, s:s, s:s, s:s, s:i, s?I, s?o, s?o}", "id", &id,
		    "probe", &probe, "variant", &variant, "profile", &profile, "family",
		    &cell->family, "samples", &samples, "options", &options, "expect",
		    &expects) < 0)
		return err_set(err, "%s", why.text);
	cell->id = alloc_text(id);
	cell->probe = alloc_text(probe);
	cell->variant = alloc_text(variant);
	cell->samples = samples;
	cell->profile = find_profile(run, profile);
	if (!cell->profile)
		return err_set(err, "'%s' is none of its profiles", profile);
	if (!*id || !id_is_safe(id))
		return err_set(err, "'%s' is no cell id", id);
	read_facts(options, &cell->options);
	return read_expects(expects, cell, err);
}

static int
read_profile(json_t *json, struct report_profile *profile, struct err *err)
{
	json_int_t rtt, jitter = 0, up = 0, down = 0, rate = 0;
	const char *name;
	json_error_t why;
	int loopback;

	if (json_unpack_ex(json, &why, 0, "{s:s, s:b, s:I, s?I, s?I, s?I, s?I}", "name", &name,
		    "loopback", &loopback, "rtt_ns", &rtt, "jitter_ns", &jitter, "loss_up_ppm",
		    &up, "loss_down_ppm", &down, "rate_bps", &rate) < 0)
		return err_set(err, "%s", why.text);
	*profile = (struct report_profile){
		.name = alloc_text(name),
		.loopback = loopback,
		.rtt_ns = rtt,
		.jitter_ns = jitter,
		.loss_up_ppm = up,
		.loss_down_ppm = down,
		.rate_bps = rate,
	};
	return 0;
}

static int
read_lists(json_t *profiles, json_t *cells, struct report_run *run, struct err *err)
{
	if (!json_is_array(profiles) || !json_is_array(cells))
		return err_set(err, "profiles and cells must be lists");
	run->profiles = alloc_zero(json_array_size(profiles), sizeof(*run->profiles));
	for (; run->profile_count < json_array_size(profiles); run->profile_count++)
		if (read_profile(json_array_get(profiles, run->profile_count),
			    &run->profiles[run->profile_count], err) < 0)
			return err_prefix(err, "profile %zu", run->profile_count + 1);
	run->cells = alloc_zero(json_array_size(cells), sizeof(*run->cells));
	for (size_t i = 0; i < json_array_size(cells); i++) {
		run->cell_count++;
		if (read_cell(json_array_get(cells, i), run, &run->cells[i], err) < 0)
			return err_prefix(err, "cell %zu", i + 1);
	}
	return 0;
}

/* Runs before there was the setting do not say. */
static void
read_awake(json_t *root, struct report_run *run)
{
	const char *asked, *done;

	if (json_unpack(root, "{s:{s:s, s:s}}", "awake", "asked", &asked, "done", &done) == 0)
		run->awake = alloc_printf("%s (%s)", asked, done);
}

static int
read_run(json_t *root, struct report_run *run, struct err *err)
{
	const char *name, *matrix, *runtime, *link, *start;
	json_t *end = NULL, *system = NULL, *profiles, *cells;
	json_int_t seed, repeats, jobs = 1;
	json_error_t why;
	int schema, complete;

	if (json_unpack_ex(root, &why, 0, "{s:i}", "schema", &schema) < 0)
		return err_set(err, "%s", why.text);
	if (schema != 1)
		return err_set(err, "schema %d is not known here: expected 1", schema);
	if (json_unpack_ex(root, &why, 0,
		    "{s:s, s:{s:s}, s:I, s:I, s:s, s:s, s?I, s:s, s?o, s:b, s?o, s:o, s:o}",
		    "run", &name, "matrix", "name", &matrix, "seed", &seed, "repeats", &repeats,
		    "runtime", &runtime, "link", &link, "jobs", &jobs, "start", &start, "end",
		    &end, "complete", &complete, "system", &system, "profiles", &profiles,
		    "cells", &cells) < 0)
		return err_set(err, "%s", why.text);
	if (repeats < 1 || repeats > REPEATS_MAX)
		return err_set(err, "%" JSON_INTEGER_FORMAT " repeats: expected 1 to %d",
			repeats, REPEATS_MAX);
	run->name = alloc_text(name);
	run->matrix = alloc_text(matrix);
	run->runtime = alloc_text(runtime);
	run->link = alloc_text(link);
	run->start = alloc_text(start);
	run->end = json_is_string(end) ? alloc_text(json_string_value(end)) : NULL;
	run->seed = seed;
	run->repeats = repeats;
	run->jobs = jobs;
	run->complete = complete;
	read_awake(root, run);
	read_facts(system, &run->system);
	return read_lists(profiles, cells, run, err);
}

int
report_manifest_read(const char *dir, struct report_run *run, struct err *err)
{
	char *path = alloc_printf("%s/manifest.json", dir);
	struct buf text = {0};
	json_t *root = NULL;
	json_error_t why;
	int status;

	*run = (struct report_run){.dir = alloc_text(dir)};
	status = file_read(path, MANIFEST_MAX, &text, err);
	if (status < 0)
		goto out;
	root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		status = err_set(err, "%s:%d:%d: %s", path, why.line, why.column, why.text);
	else if ((status = read_run(root, run, err)) < 0)
		err_prefix(err, "%s", path);
out:
	json_decref(root);
	buf_free(&text);
	free(path);
	return status;
}
