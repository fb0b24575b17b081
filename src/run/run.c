/* Reads a matrix, chooses where and over which link it runs, and runs it. */
#include "run/run.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/units.h"
#include "run/backends.h"
#include "run/child.h"
#include "run/facts.h"
#include "run/manifest.h"
#include "run/pool.h"
#include "run/rundir.h"

#define TURNS_MAX 100000 /* days of measuring, and some 10 MB of manifest */

char *
run_own_folder(struct err *err)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len < 0) {
		err_sys(err, "readlink /proc/self/exe");
		return NULL;
	}
	path[len] = '\0';
	*strrchr(path, '/') = '\0';
	return alloc_text(path);
}

static bool
is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Where NAME.yaml of a profile is looked for: netem/ beside the matrix, then beside its folder,
 * then in the project this program was built in. */
static char *
profile_folder(const char *file, const char *bin)
{
	const char *slash = strrchr(file, '/');
	char *own = slash ? alloc_text_n(file, (size_t)(slash - file) + 1) : alloc_text("");
	char *places[] = {
		alloc_printf("%snetem", own),
		alloc_printf("%s../netem", own),
		alloc_printf("%s/../../netem", bin),
	};
	char *found = NULL;

	for (size_t i = 0; i < 3; i++) {
		if (!found && (i == 2 || is_folder(places[i])))
			found = places[i];
		else
			free(places[i]);
	}
	free(own);
	return found;
}

static int
apply_options(const struct run_options *options, struct matrix *matrix, struct err *err)
{
	if (options->repeats)
		matrix->repeats = options->repeats;
	if (options->seed && units_parse_count(options->seed, &matrix->seed, err) < 0)
		return err_prefix(err, "option '--seed'");
	if (matrix_select(matrix, options->select.values, options->select.count,
		    options->exclude.values, options->exclude.count, err) < 0)
		return -1;
	if (options->shard && matrix_shard(matrix, options->shard, err) < 0)
		return -1;
	if ((int64_t)matrix->cell_count * matrix->repeats > TURNS_MAX)
		return err_set(err,
			"%s: %zu cells x %" PRId64 " repeats are more than %d turns",
			matrix->file, matrix->cell_count, matrix->repeats, TURNS_MAX);
	return 0;
}

enum exit_status
run_load(const char *file, const struct run_options *options, struct run_input *input,
	struct err *err)
{
	enum exit_status status = EXIT_BAD_INPUT;
	char *profiles;

	*input = (struct run_input){.bin = run_own_folder(err)};
	if (!input->bin || catalogue_load(input->bin, &input->catalogue, err) < 0)
		return EXIT_MACHINE;
	if (options->resume) {
		if (resume_read(options->resume, &input->resume, err) < 0)
			return EXIT_BAD_INPUT;
		file = input->resume.matrix;
	}
	profiles = profile_folder(file, input->bin);
	if (matrix_read(file, profiles, &input->catalogue, &input->matrix, err) == 0 &&
		(options->resume ? resume_apply(&input->resume, &input->matrix, err)
				 : apply_options(options, &input->matrix, err)) == 0)
		status = EXIT_ALL_WELL;
	free(profiles);
	return status;
}

void
run_input_free(struct run_input *input)
{
	resume_free(&input->resume);
	matrix_free(&input->matrix);
	catalogue_free(&input->catalogue);
	free(input->bin);
	*input = (struct run_input){0};
}

int64_t
run_default_jobs(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores < 2 ? 2 : cores > 8 ? 16 : 2 * cores;
}

static int64_t
jobs_of(const struct run_options *options)
{
	return options->jobs ? options->jobs : run_default_jobs();
}

int64_t
run_estimate_ns(const struct run_input *input, const struct run_options *options)
{
	struct schedule schedule;
	int64_t estimate;

	schedule_make(&input->matrix, jobs_of(options), &schedule);
	estimate = schedule_estimate_ns(&schedule, &input->matrix, 0);
	schedule_free(&schedule);
	return estimate;
}

static bool
has_links(const struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		if (!matrix->cells[i].profile->loopback)
			return true;
	return false;
}

/* Choose runtime and link, saying which and why; false with the reason when it cannot be. */
static bool
choose(const struct run_input *input, const struct run_options *options,
	struct progress *progress, struct pool_setup *setup, struct err *err)
{
	bool linked = has_links(&input->matrix);
	struct backends backends;
	struct err why;

	setup->runtime = runtime_choose(options->runtime, &why, err);
	if (!setup->runtime)
		return false;
	progress_note(progress, "%s", why.text);
	setup->link = "none";
	if (!linked || !setup->runtime->links) {
		if (linked && !strcmp(options->runtime, "auto")) {
			err_set(err, "%s. Or measure the loopback cells only: --runtime host",
				why.text);
			return false;
		}
		return true;
	}
	if (backends_ask(input->bin, &backends, err) < 0)
		return false;
	setup->link = backends_choose(&backends, options->link, &why, err);
	if (setup->link)
		progress_note(progress, "%s", why.text);
	return setup->link != NULL;
}

static enum exit_status
exit_of(enum pool_end end, const struct progress *progress, const char *dir, struct err *err)
{
	if (end == POOL_INTERRUPTED)
		err_set(err, "interrupted; %zu of %zu turns are kept in %s", progress->done,
			progress->total, dir);
	return end == POOL_DONE          ? EXIT_ALL_WELL
	       : end == POOL_INTERRUPTED ? EXIT_INTERRUPTED
					 : EXIT_CELL_FAILED;
}

/* A new run directory, or the one to go on in; NULL with the reason. */
static char *
open_rundir(struct run_input *input, const struct run_options *options,
	struct manifest_facts *facts, struct err *err)
{
	char *dir;

	if (options->resume) {
		facts->dir = dir = alloc_text(options->resume);
		snprintf(facts->start, sizeof(facts->start), "%s", input->resume.start);
		return dir;
	}
	dir = rundir_create(options->output, &input->matrix, err);
	if (!dir)
		return NULL;
	facts->dir = dir;
	facts_time(facts->start);
	if (rundir_set_latest(options->output, dir, err) == 0)
		return dir;
	free(dir);
	return NULL;
}

/* With everything chosen: make the run directory, run, and close the manifest. */
static enum exit_status
run_in(struct run_input *input, const struct run_options *options, struct pool_setup *setup,
	struct progress *progress, char **dir, struct err *err)
{
	struct manifest_facts facts = {
		.matrix = &input->matrix,
		.schedule = setup->schedule,
		.runtime = setup->runtime->name,
		.link = setup->link,
		.system = facts_collect(input->bin, &input->catalogue, &input->matrix),
	};
	enum exit_status status = EXIT_CELL_FAILED;
	char end[FACTS_TIME_SIZE], *made = open_rundir(input, options, &facts, err);
	enum pool_end pool_end;

	*dir = made;
	if (!made)
		goto out;
	setup->dir = made;
	if (manifest_write(&facts, NULL, false, err) < 0)
		goto out;
	progress_note(progress, "results in %s", made);
	pool_end = pool_run(setup, progress, err);
	status = exit_of(pool_end, progress, made, err);
	facts_time(end);
	if (pool_end != POOL_BROKEN &&
		manifest_write(&facts, end, pool_end == POOL_DONE, err) < 0)
		status = EXIT_CELL_FAILED;
out:
	json_decref(facts.system);
	return status;
}

enum exit_status
run_execute(
	struct run_input *input, const struct run_options *options, char **dir, struct err *err)
{
	struct schedule schedule;
	struct pool_setup setup = {
		.matrix = &input->matrix,
		.schedule = &schedule,
		.bin = input->bin,
	};
	enum exit_status status = EXIT_MACHINE;
	struct progress progress;

	struct run_options as_before = *options;

	*dir = NULL;
	if (options->resume) { /* the rest over the same link, in the same order */
		as_before.runtime = input->resume.runtime;
		as_before.jobs = input->resume.jobs;
		if (strcmp(input->resume.link, "none"))
			as_before.link = input->resume.link;
		options = &as_before;
	}
	schedule_make(&input->matrix, jobs_of(options), &schedule);
	progress_start(&progress, schedule.count, options->quiet);
	child_catch_stop();
	run_mark();
	if (choose(input, options, &progress, &setup, err)) {
		char about[UNITS_TEXT_SIZE];

		units_format_short(schedule_estimate_ns(&schedule, &input->matrix, 0), about);
		progress_note(&progress,
			"%zu cells x %d repeats, up to %d side by side, about %s",
			input->matrix.cell_count, (int)input->matrix.repeats,
			(int)schedule.jobs, about);
		status = run_in(input, options, &setup, &progress, dir, err);
	}
	schedule_free(&schedule);
	return status;
}
