/* The bare loop that probe-unix is held against where no other tool goes: a message and its
 * echo over a pair of Unix stream sockets between two processes, nothing else.
 *
 * usage: bare_pingpong SAMPLES SIZE CLIENT-CORE SERVER-CORE block|spin; prints nanoseconds, one
 * round trip a line. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void
pin(const char *core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)atoi(core), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity");
}

/* All of a message; `flags` is MSG_DONTWAIT to spin. */
static void
receive(int fd, char *bytes, size_t size, int flags)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = recv(fd, bytes + have, size - have, flags);

		if (got == 0)
			exit(0);
		if (got < 0 && errno != EAGAIN)
			die("recv");
		if (got > 0)
			have += (size_t)got;
	}
}

static void
serve(int fd, char *bytes, size_t size, int flags)
{
	for (;;) {
		receive(fd, bytes, size, flags);
		if (send(fd, bytes, size, 0) != (ssize_t)size)
			die("send");
	}
}

static int64_t
exchange(int fd, char *bytes, size_t size, int flags)
{
	int64_t start = clock_now();

	if (send(fd, bytes, size, 0) != (ssize_t)size)
		die("send");
	receive(fd, bytes, size, flags);
	return clock_now() - start;
}

int
main(int argc, char **argv)
{
	int samples = argc == 6 ? atoi(argv[1]) : 0;
	size_t size = samples > 0 ? (size_t)atoi(argv[2]) : 0;
	int flags, pair[2];
	int64_t *taken;
	char *bytes;
	pid_t server;

	if (samples <= 0 || size == 0)
		return 2;
	flags = strcmp(argv[5], "spin") ? 0 : MSG_DONTWAIT;
	taken = calloc((size_t)samples, sizeof(*taken));
	bytes = calloc(1, size);
	if (!taken || !bytes || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		die("prepare");
	server = fork();
	if (server < 0)
		die("fork");
	if (server == 0) {
		close(pair[0]);
		pin(argv[4]);
		serve(pair[1], bytes, size, flags);
	}
	close(pair[1]);
	pin(argv[3]);
	exchange(pair[0], bytes, size, flags);
	for (int i = 0; i < samples; i++)
		taken[i] = exchange(pair[0], bytes, size, flags);
	for (int i = 0; i < samples; i++)
		printf("%" PRId64 "\n", taken[i]);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	free(taken);
	free(bytes);
	return 0;
}
