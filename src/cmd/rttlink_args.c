/* What the shared options of rttlink's subcommands stand for. */
#include "cmd/rttlink_args.h"

#include <string.h>

#include "base/clock.h"
#include "link/profile.h"

#define AGENT_NS (10 * NS_PER_S) /* for a container with an agent to come up */

const struct backend *const backends[BACKENDS] = {&backend_netem, &backend_tun};

int
args_require(const char *value, const char *name, struct err *err)
{
	return value ? 0 : err_set(err, "option '--%s' is required", name);
}

const struct backend *
args_backend(const struct link_args *args)
{
	size_t i = 0;

	while (i < BACKENDS - 1 && strcmp(args->backend, backends[i]->name))
		i++;
	return backends[i];
}

int
args_read_profile(const struct link_args *args, struct profile *profile, struct err *err)
{
	int status;

	if (args->profile && args->yaml)
		return err_set(err, "'--profile' and '--yaml': one of them is enough");
	if (!args->yaml && !args->profile)
		return err_set(err, "option '--profile' (or '--yaml') is required");
	status = args->profile ? profile_read(args->profile, profile, err)
			       : profile_parse("--yaml", args->yaml, strlen(args->yaml),
					 profile, err);
	if (status == 0 && profile->loopback) {
		status = err_set(err, "%s: a loopback profile has no link", profile->file);
		profile_free(profile);
	}
	return status;
}

int
args_require_ends(const struct ends_args *args, struct err *err)
{
	if (args_require(args->where[NEAR], "near", err) < 0)
		return -1;
	return args_require(args->where[FAR], "far", err);
}

int
args_open_spaces(const struct ends_args *args, struct space space[static ENDS], struct err *err)
{
	for (enum end end = NEAR; end < ENDS; end++)
		if (space_open(args->where[end], clock_now() + AGENT_NS, &space[end], err) < 0)
			return -1;
	return 0;
}

void
args_close_spaces(struct space space[static ENDS])
{
	for (enum end end = NEAR; end < ENDS; end++)
		space_close(&space[end]);
}

int
args_exit_status(int status)
{
	return status == LINK_UNSUPPORTED ? EXIT_UNSUPPORTED : EXIT_FAILED;
}
