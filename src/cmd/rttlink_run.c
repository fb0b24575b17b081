/* `rttlink run`: what it is asked for. See rttlink_command.c for what it does. */
#include "cmd/rttlink_args.h"
#include "cmd/rttlink_command.h"
#include "link/profile.h"

struct run_args {
	struct common_args common;
	struct link_args link;
	const char *server;
	bool local;
	bool verbose;
};

#define AT(member) offsetof(struct run_args, member)

static const struct opt options[] = {
	LINK_ROWS(AT(link)),
	{"server", OPT_TEXT, AT(server), NULL, "COMMAND", 0, 0,
		"run this at the far end meanwhile, with sh -c"},
	{"local", OPT_FLAG, AT(local), NULL, NULL, 0, 0,
		"the far end is as far as the command gets: nothing is masqueraded"},
	{"verbose", OPT_FLAG, AT(verbose), NULL, NULL, 0, 0,
		"say on stderr what is in force and, at the end, what happened to packets"},
	HELP_ROW,
	{0},
};

static int
run(const void *given)
{
	const struct run_args *args = given;
	struct profile profile = {0};
	struct command_plan plan = {
		.backend = args_backend(&args->link),
		.profile = &profile,
		.seed = (uint64_t)args->link.seed,
		.server = args->server,
		.command = args->common.operands,
		.local = args->local,
		.verbose = args->verbose,
	};
	struct err err;
	int status;

	if (args_read_profile(&args->link, &profile, &err) < 0)
		return rttlink_fail(EXIT_USAGE, &err);
	if (!args->common.operands[0]) {
		err_set(&err, "no command: rttlink run [OPTIONS] -- COMMAND [ARGUMENTS]");
		return rttlink_fail(EXIT_USAGE, &err);
	}
	status = command_run(&plan, &err);
	profile_free(&profile);
	return status < 0 ? rttlink_fail(args_exit_status(status), &err) : status;
}

const struct subcommand subcommand_run = {
	.name = "run",
	.summary = "run a command behind a link",
	.options = options,
	.args_size = sizeof(struct run_args),
	.run = run,
	.help = "COMMAND gets a network namespace whose only way out is the link. RTTLINK_FAR holds\n"
		"the address of its far end, RTTLINK_NEAR its own.\n"
		"As root, or inside another 'rttlink run', the far end is where you are: COMMAND\n"
		"reaches what listens here on RTTLINK_FAR, and (by masquerading) what you reach. A\n"
		"user's far end is a namespace of its own, where only --server runs.\n"
		"Exit: COMMAND's own; 128 + signal when one killed it; 127 not found, 126 not to be\n"
		"executed; 1, 2, 77 with a reason from rttlink when there was no link.\n"
		"Try it:\n"
		"  build/bin/rttlink run --profile netem/wan50.yaml -- sh -c 'ping -c 3 "
		"$RTTLINK_FAR'\n",
	.takes_command = true,
};
