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
#include "run/awake.h"
#include "run/backends.h"
#include "run/child.h"
#include "run/docker.h"
#include "run/facts.h"
#include "run/manifest.h"
#include "run/mark.h"
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
	if (options->awake && awake_parse(options->awake, &matrix->awake) < 0)
		return err_set(err, "option '--awake': '%s' is not one of auto, on, off",
			options->awake);
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

/* What would have to be another run is not left unsaid. */
static int
check_resume(const struct run_options *options, struct err *err)
{
	const struct {
		const char *name;
		bool given;
	} rows[] = {
		{"runtime", options->runtime && strcmp(options->runtime, "auto") != 0},
		{"link", options->link && strcmp(options->link, "auto") != 0},
		{"awake", options->awake != NULL},
		{"select", options->select.count > 0},
		{"exclude", options->exclude.count > 0},
		{"repeats", options->repeats > 0},
		{"seed", options->seed != NULL},
		{"jobs", options->jobs > 0},
		{"shard", options->shard != NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].given)
			return err_set(err,
				"option '--%s': with '--resume' a run goes on as it was begun",
				rows[i].name);
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
		if (check_resume(options, err) < 0 ||
			resume_read(options->resume, &input->resume, err) < 0)
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

/* To start containers takes a core, and loops that keep cores awake take all that is left:
 * fewer side by side, or they disturb what is measured. */
static int64_t
jobs_of(const struct matrix *matrix, const struct run_options *options,
	const struct runtime_kind *kind)
{
	int64_t jobs = run_default_jobs();

	if (options->jobs)
		return options->jobs;
	if (awake_find() == AWAKE_BY_LOOPS && awake_needed(matrix, AWAKE_BY_LOOPS))
		jobs /= 2;
	return kind == &runtime_docker ? (jobs + 4) / 8 : jobs;
}

int64_t
run_estimate_ns(const struct run_input *input, const struct run_options *options,
	const struct runtime_kind *kind)
{
	struct schedule schedule;
	int64_t estimate;

	schedule_make(&input->matrix, jobs_of(&input->matrix, options, kind), &schedule);
	schedule.turn_ns = kind->turn_ns;
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

/* The first profile with something that only our emulator can do, or NULL. */
static const struct profile *
emulated_profile(const struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		if (profile_emulator_key(matrix->cells[i].profile))
			return matrix->cells[i].profile;
	return NULL;
}

/* Choose the link's backend, saying which and why; false with the reason when it cannot be. */
static bool
choose_link(const struct run_input *input, const struct run_options *options,
	struct progress *progress, struct runtime *runtime, struct err *err)
{
	const struct profile *emulated = emulated_profile(&input->matrix);
	const char *name = options->link;
	struct backends backends;
	struct err why;

	if (!has_links(&input->matrix) || !runtime->kind->links)
		return true;
	if (emulated && !strcmp(name, "auto")) {
		name = "tun";
		progress_note(progress, "profile %s has '%s', which only the backend tun does",
			emulated->name, profile_emulator_key(emulated));
	}
	if (runtime->kind->ask(runtime, name, &backends, err) < 0)
		return false;
	runtime->link = backends_choose(&backends, name, &why, err);
	if (runtime->link)
		progress_note(progress, "%s", why.text);
	return runtime->link != NULL;
}

/* Choose runtime and link. False with the reason when it cannot be. */
static bool
choose(const struct run_input *input, const struct run_options *options,
	struct progress *progress, struct runtime *runtime, struct err *err)
{
	struct err why;

	if (runtime_choose(options->runtime, &input->matrix, input->bin, runtime, &why, err) <
		0)
		return false;
	progress_note(progress, "%s", why.text);
	if (has_links(&input->matrix) && !runtime->kind->links &&
		!strcmp(options->runtime, "auto")) {
		err_set(err, "%s. Or measure the loopback cells only: --runtime host",
			why.text);
		return false;
	}
	if (runtime->docker && docker_guard(runtime->docker, err) < 0)
		return false;
	return choose_link(input, options, progress, runtime, err);
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

/* A new run directory, or the one to go on in, ours until `*lock` is closed; NULL with the
 * reason. */
static char *
open_rundir(struct run_input *input, const struct run_options *options,
	struct manifest_facts *facts, int *lock, struct err *err)
{
	char *dir;

	if (options->resume) {
		*lock = rundir_lock(options->resume, err);
		if (*lock < 0)
			return NULL;
		facts->dir = dir = alloc_text(options->resume);
		snprintf(facts->start, sizeof(facts->start), "%s", input->resume.start);
		return dir;
	}
	dir = rundir_create(options->output, &input->matrix, err);
	if (!dir)
		return NULL;
	facts->dir = dir;
	facts_time(facts->start);
	*lock = rundir_lock(dir, err);
	if (*lock >= 0 && rundir_set_latest(options->output, dir, err) == 0)
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
		.runtime = setup->runtime->kind->name,
		.link = setup->runtime->link,
		.system = facts_collect(setup->runtime, &input->catalogue, &input->matrix),
	};
	enum exit_status status = EXIT_CELL_FAILED;
	char awake[AWAKE_TEXT_SIZE] = "off";
	char end[FACTS_TIME_SIZE], *made;
	enum pool_end pool_end;
	int lock = -1;

	if (awake_needed(&input->matrix, setup->awake))
		awake_text(setup->awake, awake);
	facts.awake = awake;
	*dir = made = open_rundir(input, options, &facts, &lock, err);
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
	if (lock >= 0)
		close(lock);
	json_decref(facts.system);
	return status;
}

enum exit_status
run_execute(
	struct run_input *input, const struct run_options *options, char **dir, struct err *err)
{
	struct run_options as_before = *options;
	struct schedule schedule;
	struct runtime runtime = {0};
	struct pool_setup setup = {
		.matrix = &input->matrix,
		.schedule = &schedule,
		.runtime = &runtime,
	};
	enum exit_status status = EXIT_MACHINE;
	struct progress progress;

	*dir = NULL;
	if (options->resume) { /* the rest over the same link, in the same order */
		as_before.runtime = input->resume.runtime;
		as_before.jobs = input->resume.jobs;
		if (strcmp(input->resume.link, "none"))
			as_before.link = input->resume.link;
		options = &as_before;
	}
	progress_start(&progress, input->matrix.cell_count * (size_t)input->matrix.repeats,
		options->quiet);
	child_catch_stop();
	mark_set();
	if (choose(input, options, &progress, &runtime, err)) {
		char about[UNITS_TEXT_SIZE];
		struct err why = {""};

		/* Containers are groups of their own: loops outside would take half of a core
		 * from them, whatever their priority. */
		setup.awake = runtime.kind == &runtime_docker
				      ? awake_find()
				      : awake_look(&input->matrix, &why);
		if (*why.text)
			progress_note(&progress, "%s", why.text);
		schedule_make(&input->matrix, jobs_of(&input->matrix, options, runtime.kind),
			&schedule);
		schedule.turn_ns = runtime.kind->turn_ns;
		units_format_short(schedule_estimate_ns(&schedule, &input->matrix, 0), about);
		progress_note(&progress,
			"%zu cells x %d repeats, up to %d side by side, about %s",
			input->matrix.cell_count, (int)input->matrix.repeats,
			(int)schedule.jobs, about);
		status = run_in(input, options, &setup, &progress, dir, err);
		schedule_free(&schedule);
	}
	runtime_free(&runtime);
	return status;
}
