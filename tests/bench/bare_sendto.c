/* The bare sendto() loop that probe-datagram is held against: send, nothing else.
 *
 * usage: bare_sendto MESSAGES SIZE CLIENT-CORE SERVER-CORE quick|still; prints nanoseconds a
 * message. The receiver takes what comes, or nothing. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
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

/* As the probe's receiver: wait, take all that is there, and the time of each. */
static void
receive(int fd, size_t size)
{
	struct pollfd item = {.fd = fd, .events = POLLIN};
	char *bytes = malloc(size);
	volatile int64_t last_ns;

	while (bytes && poll(&item, 1, -1) > 0)
		while (recv(fd, bytes, size, MSG_TRUNC | MSG_DONTWAIT) >= 0)
			last_ns = clock_now();
	(void)last_ns;
	exit(1);
}

/* A receive buffer of the least size, and nobody who reads. */
static void
stand_still(int fd)
{
	int least = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) < 0)
		die("setsockopt");
	for (;;)
		pause();
}

int
main(int argc, char **argv)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
	int64_t count, start;
	size_t size;
	pid_t receiver;
	char *bytes;

	if (argc != 6 || (count = atoll(argv[1])) <= 0 || (size = (size_t)atoi(argv[2])) < 1)
		return 2;
	if (bind(to, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		getsockname(to, (struct sockaddr *)&addr, &len) < 0 ||
		connect(from, (struct sockaddr *)&addr, len) < 0)
		die("connect");
	receiver = fork();
	if (receiver < 0)
		die("fork");
	if (receiver == 0) {
		pin(argv[4]);
		if (!strcmp(argv[5], "quick"))
			receive(to, size);
		stand_still(to);
	}
	pin(argv[3]);
	bytes = calloc(1, size);
	if (!bytes)
		die("calloc");
	start = clock_now();
	for (int64_t i = 0; i < count; i++)
		if (sendto(from, bytes, size, 0, NULL, 0) < 0)
			die("sendto");
	printf("%.1f\n", (double)(clock_now() - start) / (double)count);
	kill(receiver, SIGKILL);
	waitpid(receiver, NULL, 0);
	free(bytes);
	return 0;
}
