/* Works in a network namespace, by entering it or through the agent there. */
#include "link/space.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/netns.h"
#include "link/agent.h"

#define AGENT_PREFIX "agent:"
#define TUN_NODE "/dev/net/tun"

static int
dial(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (void *)&address, sizeof(address)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Wait for something to happen in the folder of `path`; false when the deadline came. */
static bool
await_change(int watch, int64_t deadline_ns)
{
	struct pollfd fd = {watch, POLLIN, 0};
	char ignored[4096];

	return poll(&fd, 1, clock_poll_ms(deadline_ns)) > 0 &&
	       read(watch, ignored, sizeof(ignored)) > 0;
}

/* The agent's container may start after ours. */
static int
await_agent(const char *path, int64_t deadline_ns, struct err *err)
{
	char *copy = alloc_text(path);
	int watch = inotify_init1(IN_CLOEXEC), fd = -1;

	/* Watched before it is looked at, so that it cannot come in between. */
	if (watch >= 0 && inotify_add_watch(watch, dirname(copy), IN_CREATE | IN_MOVED_TO) >= 0)
		do
			fd = dial(path);
		while (fd < 0 && await_change(watch, deadline_ns));
	if (fd < 0)
		err_sys(err, "reach the agent at %s", path);
	else
		close(fd);
	if (watch >= 0)
		close(watch);
	free(copy);
	return fd < 0 ? -1 : 0;
}

int
space_open(const char *where, int64_t deadline_ns, struct space *space, struct err *err)
{
	const char *path = where + strlen(AGENT_PREFIX);

	*space = (struct space)SPACE_NONE;
	if (strncmp(where, AGENT_PREFIX, strlen(AGENT_PREFIX))) {
		space->ns = netns_open(where, err);
		return space->ns < 0 ? -1 : 0;
	}
	if (await_agent(path, deadline_ns, err) < 0)
		return -1;
	space->agent = alloc_text(path);
	return 0;
}

void
space_close(struct space *space)
{
	if (space->ns >= 0)
		close(space->ns);
	free(space->agent);
	*space = (struct space)SPACE_NONE;
}

/* Go there, unless that is where we are or the agent is. */
static int
enter(const struct space *space, struct err *err)
{
	return space->ns < 0 ? 0 : netns_enter(space->ns, err);
}

/* Ask the agent. Returns the descriptor that came, -1 when none did; *failed tells the two
 * apart. */
static int
ask(const struct space *space, const struct agent_request *request, struct agent_answer *answer,
	bool *failed, struct err *err)
{
	int fd = dial(space->agent), passed = -1;

	*failed = fd < 0 || agent_send(fd, request, sizeof(*request), -1) < 0 ||
		  agent_receive(fd, answer, sizeof(*answer), &passed) < 0;
	if (*failed)
		err_sys(err, "ask the agent at %s", space->agent);
	else if (answer->error) {
		errno = answer->error;
		*failed = true;
	}
	if (fd >= 0)
		close(fd);
	return passed;
}

/* Ask for a descriptor; -1 with errno kept. */
static int
ask_descriptor(const struct space *space, const struct agent_request *request, const char *what,
	struct err *err)
{
	struct agent_answer *answer = alloc_zero(1, sizeof(*answer));
	bool failed;
	int fd = ask(space, request, answer, &failed, err), error = errno;

	if (fd < 0 && answer->error)
		err_sys(err, "%s", what);
	if (fd < 0 && !failed) { /* cut off, as when no more may be open */
		error = EMFILE;
		err_set(err, "%s: the descriptor did not come: too many open files?", what);
	}
	free(answer);
	errno = error;
	return fd;
}

int
space_socket(const struct space *space, int family, int type, int protocol, struct err *err)
{
	struct agent_request request = {
		.op = AGENT_SOCKET,
		.family = family,
		.type = type | SOCK_CLOEXEC,
		.protocol = protocol,
	};
	int fd;

	if (space->agent)
		return ask_descriptor(space, &request, "make a socket", err);
	if (enter(space, err) < 0)
		return -1;
	fd = socket(family, type | SOCK_CLOEXEC, protocol);
	return fd < 0 ? err_sys(err, "make a socket") : fd;
}

int
space_open_tun(const struct space *space, struct err *err)
{
	struct agent_request request = {.op = AGENT_TUN};
	int fd;

	if (space->agent)
		return ask_descriptor(space, &request, "open " TUN_NODE, err);
	if (enter(space, err) < 0)
		return -1;
	fd = open(TUN_NODE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? err_sys(err, "open " TUN_NODE) : fd;
}

int
space_descriptor(const struct space *space, struct err *err)
{
	struct agent_request request = {.op = AGENT_NAMESPACE};

	if (space->agent)
		return ask_descriptor(space, &request, "open the network namespace", err);
	if (space->ns < 0)
		return netns_open("/proc/self/ns/net", err);
	return fcntl(space->ns, F_DUPFD_CLOEXEC, 0);
}

/* The words of argv behind its first, each with its NUL; false when they do not fit. */
static bool
pack(const char *const argv[], char words[static AGENT_WORDS_SIZE])
{
	size_t used = 0;

	for (size_t i = 1; argv[i]; i++) {
		size_t len = strlen(argv[i]) + 1;

		if (used + len >= AGENT_WORDS_SIZE)
			return false;
		memcpy(words + used, argv[i], len);
		used += len;
	}
	return true;
}

static int
ask_tc(const struct space *space, const char *const argv[], int64_t deadline_ns,
	struct proc_output *output, struct err *err)
{
	struct agent_request request = {
		.op = AGENT_TC,
		.limit_ns = deadline_ns - clock_now(),
	};
	struct agent_answer *answer = alloc_zero(1, sizeof(*answer));
	bool failed = true;
	int error;

	if (pack(argv, request.words))
		ask(space, &request, answer, &failed, err);
	else
		errno = E2BIG;
	error = errno;
	if (failed && (answer->error || error == E2BIG))
		err_sys(err, "start tc");
	output->exit_status = answer->exit_status;
	output->timed_out = answer->timed_out;
	buf_puts(&output->out, answer->out);
	buf_puts(&output->err, answer->err);
	free(answer);
	errno = error;
	return failed ? -1 : 0;
}

int
space_run_tc(const struct space *space, const char *const argv[], int64_t deadline_ns,
	struct proc_output *output, struct err *err)
{
	if (space->agent)
		return ask_tc(space, argv, deadline_ns, output, err);
	if (enter(space, err) < 0)
		return -1;
	return proc_capture(argv, deadline_ns, output, err);
}
