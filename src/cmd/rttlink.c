/* rttlink: makes a link with a stated delay, jitter, loss and rate between two network
 * namespaces, and measures one; between containers with the help of an agent in one of them.
 * Prints records (docker/CONTRACT.md) on stdout. */
#include "cmd/rttlink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "base/proc.h"

static const struct subcommand *const subcommands[] = {
	&subcommand_run,
	&subcommand_up,
	&subcommand_check,
	&subcommand_fates,
	&subcommand_agent,
	&subcommand_silent,
	&subcommand_backends,
};

#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

int
rttlink_fail(int status, const struct err *err)
{
	fflush(stdout);
	fprintf(stderr, "rttlink: %s\n", err->text);
	return status;
}

static const struct subcommand *
find_subcommand(const char *name, struct err *err)
{
	const char *names[SUBCOMMANDS], *nearest;

	for (size_t i = 0; i < SUBCOMMANDS; i++) {
		names[i] = subcommands[i]->name;
		if (!strcmp(name, names[i]))
			return subcommands[i];
	}
	nearest = nearest_name(name, names, SUBCOMMANDS);
	if (nearest)
		err_set(err, "unknown subcommand '%s': did you mean '%s'?", name, nearest);
	else
		err_set(err, "unknown subcommand '%s'", name);
	return NULL;
}

static void
usage(FILE *out)
{
	fputs("usage: rttlink SUBCOMMAND [OPTIONS]\n"
	      "A link with a stated delay, jitter, loss and rate between two network "
	      "namespaces.\n\n",
		out);
	for (size_t i = 0; i < SUBCOMMANDS; i++)
		fprintf(out, "  %-10s%s\n", subcommands[i]->name, subcommands[i]->summary);
	fputs("\n'rttlink SUBCOMMAND --help' says more. A namespace is given by a path such "
	      "as\n"
	      "/proc/PID/ns/net or /run/netns/NAME, or as agent:PATH (see agent).\n"
	      "Exit: 0 ok, 1 failed, 2 usage, 77 not possible on this machine (the last line "
	      "says why).\n",
		out);
}

static int
help(const struct subcommand *subcommand)
{
	printf("usage: rttlink %s%s%s [OPTIONS]%s\n%s\n\n%s\n", subcommand->name,
		subcommand->operand ? " " : "", subcommand->operand ? subcommand->operand : "",
		subcommand->takes_command ? " -- COMMAND [ARGUMENTS]" : "", subcommand->summary,
		subcommand->help);
	opts_usage(subcommand->options, "--", stdout);
	return EXIT_OK;
}

/* Take the options and operands into `args`. */
static int
parse(const struct subcommand *subcommand, int argc, char **argv, struct common_args *args,
	struct err *err)
{
	int operands, taken = subcommand->operand ? 1 : 0;

	opts_defaults(subcommand->options, args);
	if (opts_parse(subcommand->options, args, argc, argv, &operands, err) < 0) {
		if (subcommand->takes_command)
			err_prefix(err, "in front of '--', behind which the command stands");
		return -1;
	}
	args->operands = argv + 1;
	args->operands[operands] = NULL;
	if (args->help || subcommand->takes_command || operands <= taken)
		return 0;
	return err_set(err, "unexpected argument '%s'", args->operands[taken]);
}

/* What is not one of our words: where those are listed, and then the reason. */
static int
refuse(const char *subcommand, const struct err *err)
{
	fprintf(stderr, "rttlink: try: rttlink %s%s--help\n", subcommand,
		*subcommand ? " " : "");
	return rttlink_fail(EXIT_USAGE, err);
}

/* Results that did not get out are no success. */
static int
flush_results(int status)
{
	struct err err;

	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	err_sys(&err, "write to stdout");
	return rttlink_fail(EXIT_FAILED, &err);
}

int
main(int argc, char **argv)
{
	const struct subcommand *subcommand;
	struct common_args *args;
	struct err err;
	int status;

	/* What is asked for? */
	proc_fill_std();
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
		!strcmp(argv[1], "help")) {
		usage(argc < 2 ? stderr : stdout);
		return argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	subcommand = find_subcommand(argv[1], &err);
	if (!subcommand)
		return refuse("", &err);
	args = alloc_zero(1, subcommand->args_size);

	/* Do it. */
	if (parse(subcommand, argc - 1, argv + 1, args, &err) < 0)
		status = refuse(subcommand->name, &err);
	else if (args->help)
		status = help(subcommand);
	else
		status = flush_results(subcommand->run(args));
	free(args);
	return status;
}
