/* The agent's loop, and messages with descriptors in them (unix(7), SCM_RIGHTS). */
#include "link/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"
#include "link/space.h"

#define BACKLOG 8
#define WORDS_MAX 64
#define ASK_NS (2 * NS_PER_S) /* for a request to come once connected */

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

int
agent_send(int fd, const void *data, size_t len, int descriptor)
{
	struct iovec part = {(void *)(uintptr_t)data, len};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (descriptor >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

int
agent_receive(int fd, void *data, size_t len, int *descriptor)
{
	struct iovec part = {data, len};
	union control control = {0};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const struct cmsghdr *header;
	ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);

	if (got < 0)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	*descriptor = -1;
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(descriptor, CMSG_DATA(header), sizeof(int));
	if ((size_t)got == len)
		return 0;
	if (*descriptor >= 0)
		close(*descriptor);
	errno = EPROTO;
	return -1;
}

int
agent_listen(const char *path, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *early = alloc_printf("%s.new", path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(early) >= sizeof(address.sun_path)) {
		err_set(err, "socket path '%s': expected at most %zu bytes", path,
			sizeof(address.sun_path) - sizeof(".new"));
		goto fail;
	}
	memcpy(address.sun_path, early, strlen(early) + 1);
	unlink(early);
	/* Under its own name only when it listens: who sees it may connect. */
	if (fd < 0 || bind(fd, (void *)&address, sizeof(address)) < 0 ||
		listen(fd, BACKLOG) < 0 || rename(early, path) < 0) {
		err_sys(err, "listen on %s", path);
		goto fail;
	}
	free(early);
	return fd;
fail:
	if (fd >= 0)
		close(fd);
	free(early);
	return -1;
}

/* Nothing but tc is run for anybody. */
static void
run_tc(const struct agent_request *request, struct agent_answer *answer)
{
	const char *argv[WORDS_MAX + 1] = {"tc"}, *word = request->words;
	struct space here = {.ns = -1};
	struct proc_output output = {0};
	size_t count = 1;

	for (; *word && count < WORDS_MAX; word += strlen(word) + 1)
		argv[count++] = word;
	if (space_run_tc(&here, argv, clock_now() + request->limit_ns, &output, NULL) < 0)
		answer->error = errno;
	answer->exit_status = output.exit_status;
	answer->timed_out = output.timed_out;
	snprintf(answer->out, sizeof(answer->out), "%s", buf_text(&output.out));
	snprintf(answer->err, sizeof(answer->err), "%s", buf_text(&output.err));
	proc_output_free(&output);
}

/* Do what is asked; returns the descriptor to pass on, or -1. */
static int
obey(const struct agent_request *request, struct agent_answer *answer)
{
	struct space here = {.ns = -1};
	int fd = -1;

	switch (request->op) {
	case AGENT_SOCKET:
		fd = space_socket(
			&here, request->family, request->type, request->protocol, NULL);
		break;
	case AGENT_TUN:
		fd = space_open_tun(&here, NULL);
		break;
	case AGENT_NAMESPACE:
		fd = space_descriptor(&here, NULL);
		break;
	case AGENT_TC:
		run_tc(request, answer);
		return -1;
	default:
		errno = EPROTO;
	}
	if (fd < 0)
		answer->error = errno;
	return fd;
}

static bool
readable(int fd, int64_t deadline_ns)
{
	struct pollfd wait = {fd, POLLIN, 0};

	return poll(&wait, 1, clock_poll_ms(deadline_ns)) > 0;
}

/* One connection: a request, its answer. One that only looks whether we are there sends none.
 */
static void
answer_one(int fd)
{
	struct agent_request *request = alloc_zero(1, sizeof(*request));
	struct agent_answer *answer = alloc_zero(1, sizeof(*answer));
	int ignored, passed = -1;

	if (readable(fd, clock_now() + ASK_NS) &&
		agent_receive(fd, request, sizeof(*request), &ignored) == 0) {
		request->words[sizeof(request->words) - 1] = '\0';
		request->words[sizeof(request->words) - 2] = '\0';
		passed = obey(request, answer);
		agent_send(fd, answer, sizeof(*answer), passed);
	}
	if (passed >= 0)
		close(passed);
	free(answer);
	free(request);
}

int
agent_serve(int listen_fd, int stop_fd, struct err *err)
{
	struct pollfd fds[] = {{stop_fd, POLLIN, 0}, {listen_fd, POLLIN, 0}};

	while (!fds[0].revents) {
		int fd;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return err_sys(err, "wait for requests");
		if (!fds[1].revents)
			continue;
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return err_sys(err, "accept a request");
		answer_one(fd);
		close(fd);
	}
	return 0;
}
