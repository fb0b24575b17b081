/* rttmatrix: what a connection costs at a given round trip. The subcommand table, and each
 * subcommand as a table of contents of what it does. */
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/opts.h"
#include "base/proc.h"
#include "base/units.h"
#include "report/report.h"
#include "run/contract.h"
#include "run/manifest.h"
#include "run/run.h"
#include "run/runtime.h"

struct arguments {
	struct run_options run;
	bool json, csv, help;
	const char *probe; /* of check: a program or an image instead of a matrix */
	char **operands;
	int operand_count;
};

struct subcommand {
	const char *name, *operands, *help;
	int min_operands, max_operands;
	const struct opt *options;
	enum exit_status (*act)(const struct arguments *arguments, struct err *err);
};

#define HELP_ROW                                                                               \
	{                                                                                      \
		"help", OPT_FLAG, offsetof(struct arguments, help), NULL, NULL, 0, 0,          \
			"print this"                                                           \
	}
#define END_ROW                                                                                \
	{                                                                                      \
		.name = NULL                                                                   \
	}
#define RUN(member) offsetof(struct arguments, run.member)
#define SELECT_ROWS                                                                            \
	{"select", OPT_LIST, RUN(select), NULL, "GLOB", 0, 0,                                  \
		"only cells whose PROBE/VARIANT/PROFILE/FAMILY matches; may be repeated"},     \
		{"exclude", OPT_LIST, RUN(exclude), NULL, "GLOB", 0, 0,                        \
			"not these cells; may be repeated"},                                   \
		{"repeats", OPT_COUNT, RUN(repeats), NULL, NULL, 1, 1000,                      \
			"instead of the matrix file's"},                                       \
		{"seed", OPT_TEXT, RUN(seed), NULL, "N", 0, 0,                                 \
			"of the order, the losses and the jitter, instead of the matrix "      \
			"file's"},                                                             \
		{"jobs", OPT_COUNT, RUN(jobs), NULL, NULL, 1, 64,                              \
			"cells of 20ms and more that run side by side (default: 2 a core; "    \
			"in containers one for 4 cores)"},                                     \
	{                                                                                      \
		"shard", OPT_TEXT, RUN(shard), NULL, "I/N", 0, 0,                              \
			"only every N-th cell, from the I-th on"                               \
	}
#define OUTPUT_ROW(text)                                                                       \
	{                                                                                      \
		"output", OPT_TEXT, RUN(output), "results", "DIR", 0, 0, text                  \
	}

static const struct opt run_table[] = {
	OUTPUT_ROW("where run directories are made"),
	{"runtime", OPT_WORD, RUN(runtime), "auto", "auto|docker|netns|host", 0, 0,
		"what isolates a pair; host runs loopback cells only"},
	{"link", OPT_WORD, RUN(link), "auto", "auto|netem|tun", 0, 0,
		"what shapes: the kernel's netem, or our emulator"},
	{"awake", OPT_WORD, RUN(awake), NULL, "auto|on|off", 0, 0,
		"keep the cores out of idle while cells run; auto: over a link, where "
		"/dev/cpu_dma_latency does it (default: as the matrix says, else auto)"},
	SELECT_ROWS,
	{"resume", OPT_TEXT, RUN(resume), NULL, "DIR", 0, 0,
		"instead of FILE: go on with the interrupted run in DIR, as it was begun"},
	{"dry-run", OPT_FLAG, RUN(dry_run), NULL, NULL, 0, 0,
		"print the cells and about how long they take"},
	{"quiet", OPT_FLAG, RUN(quiet), NULL, NULL, 0, 0, "no progress"},
	HELP_ROW,
	END_ROW,
};

static const struct opt list_table[] = {
	{"json", OPT_FLAG, offsetof(struct arguments, json), NULL, NULL, 0, 0, "for scripts"},
	SELECT_ROWS,
	HELP_ROW,
	END_ROW,
};

static const struct opt collate_table[] = {
	{"output", OPT_TEXT, RUN(output), NULL, "DIR", 0, 0,
		"where matrix.csv, summary.md and report.html go; default: the run directory, "
		"with several: ."},
	HELP_ROW,
	END_ROW,
};

static const struct opt compare_table[] = {
	{"csv", OPT_FLAG, offsetof(struct arguments, csv), NULL, NULL, 0, 0, "for scripts"},
	HELP_ROW,
	END_ROW,
};

static const struct opt clean_table[] = {
	OUTPUT_ROW("where to look for half-written files"),
	HELP_ROW,
	END_ROW,
};

static const struct opt check_table[] = {
	{"probe", OPT_TEXT, offsetof(struct arguments, probe), NULL, "COMMAND|IMAGE", 0, 0,
		"instead of FILE: run this program, or the image of that name, through the "
		"contract"},
	HELP_ROW,
	END_ROW,
};

static const struct opt plain_table[] = {HELP_ROW, END_ROW};

/* The status a finished run exits with. */
static enum exit_status
judge(const struct report_totals *totals)
{
	if (totals->failed || totals->timeout || totals->invalid_link)
		return EXIT_CELL_FAILED;
	if (!totals->ok && totals->unsupported + totals->skipped)
		return EXIT_MACHINE; /* nothing was measured, because it cannot be here */
	return totals->broken ? EXIT_UNEXPECTED : EXIT_ALL_WELL;
}

/* matrix.csv, summary.md and report.html of these run directories into `output`; the summary to
 * stdout. */
static enum exit_status
rebuild(const char *const dirs[], size_t count, const char *output, bool print, struct err *err)
{
	enum exit_status status = EXIT_BAD_INPUT;
	struct report *report = report_load(dirs, count, err);
	struct buf summary = {0};

	if (!report)
		goto out;
	status = EXIT_CELL_FAILED;
	if (file_mkdirs(output, err) < 0 || report_write(report, output, err) < 0)
		goto out;
	status = judge(report_totals(report));
	if (print) {
		report_summary(report, &summary);
		fputs(buf_text(&summary), stdout);
	}
out:
	buf_free(&summary);
	report_free(report);
	return status;
}

static const char *
plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

static void
print_plan(const struct run_input *input, const struct run_options *options)
{
	bool containers = strcmp(options->runtime, "netns") && strcmp(options->runtime, "host");
	bool namespaces = strcmp(options->runtime, "docker");
	char about[UNITS_TEXT_SIZE];

	for (size_t i = 0; i < input->matrix.cell_count; i++)
		printf("%s\n", input->matrix.cells[i].id);
	printf("%zu cell%s x %" PRId64 " repeat%s", input->matrix.cell_count,
		plural((int64_t)input->matrix.cell_count), input->matrix.repeats,
		plural(input->matrix.repeats));
	if (namespaces) {
		units_format_short(run_estimate_ns(input, options, &runtime_netns), about);
		printf(", about %s", about);
	}
	if (containers) {
		units_format_short(run_estimate_ns(input, options, &runtime_docker), about);
		printf(", about %s in containers", about);
	}
	putchar('\n');
}

static enum exit_status
act_run(const struct arguments *arguments, struct err *err)
{
	const char *file = arguments->operand_count ? arguments->operands[0] : NULL;
	struct err report_err = {0};
	enum exit_status status;
	struct run_input input;
	char *dir = NULL;

	if (!file == !arguments->run.resume) {
		err_set(err, "run needs a matrix FILE, or --resume DIR, and not both");
		return EXIT_BAD_INPUT;
	}
	status = run_load(file, &arguments->run, &input, err);
	if (status == EXIT_ALL_WELL && arguments->run.dry_run) {
		print_plan(&input, &arguments->run);
	} else if (status == EXIT_ALL_WELL) {
		status = run_execute(&input, &arguments->run, &dir, err);
		if (dir) { /* an interrupted or broken run keeps what it has, too */
			enum exit_status judged = rebuild((const char *const[]){dir}, 1, dir,
				status == EXIT_ALL_WELL, &report_err);

			if (status == EXIT_ALL_WELL) {
				status = judged;
				*err = report_err;
			}
		}
	}
	free(dir);
	run_input_free(&input);
	return status;
}

static enum exit_status
act_list(const struct arguments *arguments, struct err *err)
{
	struct run_input input;
	enum exit_status status = run_load(
		arguments->operands[0], &arguments->run, &input, err);

	if (status == EXIT_ALL_WELL && arguments->json) {
		int64_t jobs = arguments->run.jobs ? arguments->run.jobs : run_default_jobs();
		json_t *cells = manifest_cells(&input.matrix, jobs);

		json_dumpf(cells, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
		putchar('\n');
		json_decref(cells);
	} else if (status == EXIT_ALL_WELL) {
		for (size_t i = 0; i < input.matrix.cell_count; i++)
			printf("%s\n", input.matrix.cells[i].id);
	}
	run_input_free(&input);
	return status;
}

static enum exit_status
act_check(const struct arguments *arguments, struct err *err)
{
	struct run_input input;
	enum exit_status status;

	if (arguments->probe)
		return contract_check(arguments->probe, stdout, err);
	status = run_load(arguments->operands[0], &arguments->run, &input, err);
	if (status == EXIT_ALL_WELL)
		printf("%s: ok, %zu cell%s over %zu profile%s, %" PRId64 " repeat%s\n",
			arguments->operands[0], input.matrix.cell_count,
			plural((int64_t)input.matrix.cell_count), input.matrix.profile_count,
			plural((int64_t)input.matrix.profile_count), input.matrix.repeats,
			plural(input.matrix.repeats));
	run_input_free(&input);
	return status;
}

static enum exit_status
act_doctor(const struct arguments *arguments, struct err *err)
{
	char *bin = run_own_folder(err);
	bool works = bin && run_doctor(bin, stdout, err);

	(void)arguments;
	free(bin);
	return works ? EXIT_ALL_WELL : EXIT_MACHINE;
}

static enum exit_status
act_collate(const struct arguments *arguments, struct err *err)
{
	const char *const *dirs = (const char *const *)arguments->operands;
	size_t count = (size_t)arguments->operand_count;
	const char *output = arguments->run.output;

	if (!output)
		output = count == 1 ? dirs[0] : ".";
	return rebuild(dirs, count, output, false, err);
}

static enum exit_status
act_report(const struct arguments *arguments, struct err *err)
{
	const char *const dirs[] = {arguments->operands[0]};

	return rebuild(dirs, 1, dirs[0], true, err);
}

static enum exit_status
act_compare(const struct arguments *arguments, struct err *err)
{
	if (report_compare(arguments->operands[0], arguments->operands[1], arguments->csv,
		    stdout, err) < 0)
		return EXIT_BAD_INPUT;
	return EXIT_ALL_WELL;
}

static enum exit_status
act_clean(const struct arguments *arguments, struct err *err)
{
	return run_clean(arguments->run.output, stdout, err) < 0 ? EXIT_CELL_FAILED
								 : EXIT_ALL_WELL;
}

static const struct subcommand subcommands[] = {
	{"run", "FILE", "measure every cell of a matrix", 0, 1, run_table, act_run},
	{"list", "FILE", "every cell, one a line", 1, 1, list_table, act_list},
	{"check", "FILE",
		"validate a matrix and its profiles, start nothing; --probe: a program or image",
		1, 1, check_table, act_check},
	{"doctor", "", "what this machine can run, and what mends what it cannot", 0, 0,
		plain_table, act_doctor},
	{"collate", "DIR...",
		"raw records -> matrix.csv, summary.md and report.html; several shards -> one",
		1, 10000, collate_table, act_collate},
	{"report", "DIR",
		"matrix.csv, summary.md and report.html of a run again, and print the summary",
		1, 1, plain_table, act_report},
	{"compare", "A B", "two runs, cell by cell", 2, 2, compare_table, act_compare},
	{"clean", "", "remove what a killed run left", 0, 0, clean_table, act_clean},
};

#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

static void
usage(FILE *out)
{
	fputs("rttmatrix: what a connection costs at a given round trip\n\n"
	      "usage: rttmatrix SUBCOMMAND ...   (rttmatrix SUBCOMMAND --help says more)\n\n",
		out);
	for (size_t i = 0; i < SUBCOMMANDS; i++)
		fprintf(out, "  %-8s %-7s %s\n", subcommands[i].name, subcommands[i].operands,
			subcommands[i].help);
	fputs("\nBegin with: rttmatrix doctor; rttmatrix run matrix/quick.yaml\n\n"
	      "Exit: 0 all well, 1 a cell failed or its link was invalid, 2 usage or a bad "
	      "file\n"
	      "(nothing was started), 3 an expectation does not hold, 4 this machine cannot "
	      "run it,\n"
	      "130 interrupted.\n",
		out);
}

static void
usage_of(const struct subcommand *subcommand, FILE *out)
{
	fprintf(out, "rttmatrix %s: %s\n\nusage: rttmatrix %s%s%s [OPTION...]\n\n",
		subcommand->name, subcommand->help, subcommand->name,
		*subcommand->operands ? " " : "", subcommand->operands);
	opts_usage(subcommand->options, "--", out);
}

static const struct subcommand *
find_subcommand(const char *name, struct err *err)
{
	const char *names[SUBCOMMANDS], *near;

	for (size_t i = 0; i < SUBCOMMANDS; i++) {
		names[i] = subcommands[i].name;
		if (!strcmp(name, names[i]))
			return &subcommands[i];
	}
	near = nearest_name(name, names, SUBCOMMANDS);
	err_set(err, "unknown subcommand '%s'%s%s%s", name, near ? ": did you mean '" : "",
		near ? near : "", near ? "'?" : "");
	return NULL;
}

static int
parse(const struct subcommand *subcommand, int argc, char **argv, struct arguments *arguments,
	struct err *err)
{
	opts_defaults(subcommand->options, arguments);
	if (opts_parse(subcommand->options, arguments, argc, argv, &arguments->operand_count,
		    err) < 0)
		return -1;
	arguments->operands = argv + 1;
	if (arguments->help)
		return 0;
	if (arguments->probe) { /* it stands in the place of FILE */
		if (arguments->operand_count)
			return err_set(err, "--probe leaves no place for '%s'",
				arguments->operands[0]);
		return 0;
	}
	if (arguments->operand_count < subcommand->min_operands)
		return err_set(err, "%s needs %s", subcommand->name, subcommand->operands);
	if (arguments->operand_count > subcommand->max_operands)
		return err_set(err, "%s does not take '%s'", subcommand->name,
			arguments->operands[subcommand->max_operands]);
	return 0;
}

/* Results that did not get out are no success. */
static enum exit_status
flush_results(enum exit_status status, struct err *err)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	err_sys(err, "write to stdout");
	return status == EXIT_ALL_WELL ? EXIT_CELL_FAILED : status;
}

int
main(int argc, char **argv)
{
	const struct subcommand *subcommand;
	struct arguments arguments = {0};
	enum exit_status status;
	struct err err = {0};

	/* What is asked for? */
	proc_fill_std();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write that says why beats a silent end */
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
		!strcmp(argv[1], "help")) {
		usage(argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_BAD_INPUT : EXIT_ALL_WELL;
	}
	subcommand = find_subcommand(argv[1], &err);
	if (!subcommand || parse(subcommand, argc - 1, argv + 1, &arguments, &err) < 0) {
		fprintf(stderr, "rttmatrix: %s\nrttmatrix: try: rttmatrix %s%s--help\n",
			err.text, subcommand ? subcommand->name : "", subcommand ? " " : "");
		return EXIT_BAD_INPUT;
	}

	/* Do it, and say what went wrong. */
	if (arguments.help) {
		usage_of(subcommand, stdout);
		status = EXIT_ALL_WELL;
	} else {
		status = subcommand->act(&arguments, &err);
	}
	status = flush_results(status, &err);
	if (status != EXIT_ALL_WELL && *err.text)
		fprintf(stderr, "rttmatrix: %s\n", err.text);
	opts_free(subcommand->options, &arguments);
	return (int)status;
}
