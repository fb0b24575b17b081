/* A run: one execution of a matrix, from its file to a finished run directory. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opts.h"
#include "run/catalogue.h"
#include "run/matrix.h"
#include "run/resume.h"

/* Exit statuses of rttmatrix; people script against them. */
enum exit_status {
	EXIT_ALL_WELL = 0,
	EXIT_CELL_FAILED = 1, /* or its link was invalid, or results could not be written */
	EXIT_BAD_INPUT = 2,   /* usage, matrix or profile; nothing was started */
	EXIT_UNEXPECTED = 3,  /* all cells ran, an expectation does not hold */
	EXIT_MACHINE = 4,     /* this machine cannot run it */
	EXIT_INTERRUPTED = 130,
};

struct run_options {
	const char *output; /* folder that run directories are made in */
	const char *runtime, *link;
	const char *awake; /* NULL: as the matrix says */
	struct opt_list select, exclude;
	int64_t repeats;    /* 0: as the matrix says */
	const char *seed;   /* NULL: as the matrix says */
	int64_t jobs;       /* 0: chosen from the number of cores */
	const char *shard;  /* "I/N" or NULL */
	const char *resume; /* run directory of an interrupted run to go on with, or NULL */
	bool dry_run, quiet;
};

/* Everything that is known before anything is started. */
struct run_input {
	char *bin; /* folder of our binaries */
	struct catalogue catalogue;
	struct matrix matrix;
	struct resume resume; /* of --resume; empty without */
};

/* Read the matrix at `file` (NULL with options->resume) and apply the options. EXIT_ALL_WELL,
 * or the status to exit with and the reason; run_input_free() in either case. */
enum exit_status run_load(const char *file, const struct run_options *options,
	struct run_input *input, struct err *err);

void run_input_free(struct run_input *input);

/* Run all cells. `*dir` gets the run directory (free() it; NULL if none was made). Returns
 * EXIT_ALL_WELL when every turn has an outcome, whatever it is: the report judges. */
enum exit_status run_execute(struct run_input *input, const struct run_options *options,
	char **dir, struct err *err);

/* How many waiting cells run side by side when nobody says. */
int64_t run_default_jobs(void);

struct runtime_kind;

/* About how long the run takes in that runtime. */
int64_t run_estimate_ns(const struct run_input *input, const struct run_options *options,
	const struct runtime_kind *kind);

/* Print what this machine can do for every runtime and link, and what mends what it cannot.
 * True when the main job can run; else the reason in `err`. May enter a user namespace. */
bool run_doctor(const char *bin, FILE *out, struct err *err);

/* Remove what killed runs left: processes, containers and volumes that carry our mark and whose
 * runner is dead, and half-written files below `output`. Says on `out` what it removed. */
int run_clean(const char *output, FILE *out, struct err *err);

/* The folder of this very program, where our other binaries lie; free() it. NULL on failure. */
char *run_own_folder(struct err *err);

#endif
