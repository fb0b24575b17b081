/* The bare connect loop that probe-handshake is held against: connect, close, nothing else.
 *
 * usage: bare_connect SAMPLES CLIENT-CORE SERVER-CORE; prints nanoseconds, one connect a line.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Take what comes and wait for its end, as the probe's server does. */
static void
serve(int listener)
{
	char byte;
	int fd;

	for (;;) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			die("accept");
		while (read(fd, &byte, 1) > 0)
			;
		close(fd);
	}
}

static int64_t
connect_once(const struct sockaddr_in *peer)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int64_t start = clock_now(), end;

	if (fd < 0 || connect(fd, (const struct sockaddr *)peer, sizeof(*peer)) < 0)
		die("connect");
	end = clock_now();
	close(fd);
	return end - start;
}

int
main(int argc, char **argv)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pid_t server;
	int64_t *taken;
	int samples;

	if (argc != 4 || (samples = atoi(argv[1])) <= 0)
		return 2;
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		listen(listener, 128) < 0 ||
		getsockname(listener, (struct sockaddr *)&addr, &len) < 0)
		die("listen");
	server = fork();
	if (server < 0)
		die("fork");
	if (server == 0) {
		pin(argv[3]);
		serve(listener);
	}
	pin(argv[2]);
	taken = calloc((size_t)samples, sizeof(*taken));
	if (!taken)
		die("calloc");
	connect_once(&addr);
	for (int i = 0; i < samples; i++)
		taken[i] = connect_once(&addr);
	for (int i = 0; i < samples; i++)
		printf("%" PRId64 "\n", taken[i]);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	free(taken);
	return 0;
}
