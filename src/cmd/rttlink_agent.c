/* `rttlink agent`: lends this container's network namespace to an rttlink in another one. */
#include <stdio.h>
#include <unistd.h>

#include "base/proc.h"
#include "cmd/rttlink_args.h"
#include "link/agent.h"
#include "link/stop.h"

struct agent_args {
	struct common_args common;
	const char *listen;
	int64_t life_ns;
};

#define AT(member) offsetof(struct agent_args, member)

static const struct opt options[] = {
	{"listen", OPT_TEXT, AT(listen), NULL, "PATH", 0, 0,
		"Unix socket, in a folder that both containers share"},
	LIFE_ROW(AT(life_ns)),
	HELP_ROW,
	{0},
};

static int
run(const void *given)
{
	const struct agent_args *args = given;
	int stop, fd, status = -1;
	struct err err;

	if (args_require(args->listen, "listen", &err) < 0)
		return rttlink_fail(EXIT_USAGE, &err);
	stop = stop_open(args->life_ns, &err);
	fd = stop < 0 ? -1 : agent_listen(args->listen, &err);
	if (fd < 0)
		return rttlink_fail(EXIT_FAILED, &err);
	proc_die_with_parent(getppid());
	printf("ready %s\n", args->listen);
	fflush(stdout);
	do
		status = agent_serve(fd, stop, &err);
	while (status == 0 && !stop_is_meant(stop));
	unlink(args->listen);
	close(fd);
	return status ? rttlink_fail(EXIT_FAILED, &err) : EXIT_OK;
}

const struct subcommand subcommand_agent = {
	.name = "agent",
	.summary = "let an rttlink in another container use this one's network namespace",
	.options = options,
	.args_size = sizeof(struct agent_args),
	.run = run,
	.help = "Until SIGTERM or the end of stdin; prints 'ready PATH'. The other one says\n"
		"'--far agent:PATH' (or --near) in place of a namespace it may not enter, and gets\n"
		"sockets, a TUN device and tc from here. Needs CAP_NET_ADMIN, and /dev/net/tun for\n"
		"the backend tun.\n",
};
