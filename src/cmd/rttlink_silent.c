/* `rttlink silent`: a peer that never answers. */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "base/silent.h"
#include "cmd/rttlink_args.h"
#include "link/stop.h"
#include "net/addr.h"
#include "net/tcp.h"

#define CONNECT_NS (5 * NS_PER_S)

struct silent_args {
	struct common_args common;
	const char *peer;
};

#define AT(member) offsetof(struct silent_args, member)

static const struct opt options[] = {
	{"peer", OPT_TEXT, AT(peer), NULL, "ADDR", 0, 0,
		"connect there instead, say nothing, end with a reset"},
	HELP_ROW,
	{0},
};

/* Until we are told to stop. */
static void
wait_for_end(int stop)
{
	struct pollfd wait = {stop, POLLIN, 0};

	do
		poll(&wait, 1, -1);
	while (!stop_is_meant(stop));
}

/* A TCP connection that is reset when it is closed. */
static int
connect_silently(const char *text, struct err *err)
{
	const struct wait wait = {WAIT_POLL, clock_now() + CONNECT_NS};
	struct linger reset = {1, 0};
	struct addr peer;
	int fd;

	if (addr_parse(text, &peer, err) < 0)
		return -1;
	fd = tcp_socket(addr_family(&peer), WAIT_POLL, err);
	if (fd < 0 || tcp_connect(fd, &peer, &wait, err) < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return fd;
}

static int
run(const void *given)
{
	const struct silent_args *args = given;
	struct silent silent = {-1, -1, ""};
	struct err err;
	int stop = stop_open(0, &err), status = -1;

	if (stop >= 0 && args->peer)
		status = silent.tcp = connect_silently(args->peer, &err);
	else if (stop >= 0)
		status = silent_open(&silent, &err);
	if (status < 0)
		return rttlink_fail(EXIT_FAILED, &err);
	proc_die_with_parent(getppid());
	printf("ready %s\n", args->peer ? args->peer : silent.addr);
	fflush(stdout);
	wait_for_end(stop);
	silent_close(&silent);
	return EXIT_OK;
}

const struct subcommand subcommand_silent = {
	.name = "silent",
	.summary = "a peer that takes connections and datagrams and never answers",
	.options = options,
	.args_size = sizeof(struct silent_args),
	.run = run,
	.help = "On 127.0.0.1, until SIGTERM or the end of stdin; prints 'ready ADDR'. What\n"
		"'rttmatrix check --probe' holds a probe's deadline against.\n",
};
