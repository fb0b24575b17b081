/* Unix sockets: their names, and descriptors passed over them. */
#include "net/unix.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/socket.h"

#define HEADER offsetof(struct sockaddr_un, sun_path)

int
unix_addr_file(struct unix_addr *addr, const char *path, struct err *err)
{
	size_t len = strlen(path);

	errno = ENAMETOOLONG;
	if (len > UNIX_FILE_MAX)
		return err_set(err,
			"'%.20s...' has %zu bytes: the path of a Unix socket has at most %zu",
			path, len, UNIX_FILE_MAX);
	errno = ENOENT;
	if (len == 0)
		return err_set(err, "the path of a Unix socket is empty");
	*addr = (struct unix_addr){.sock.sun_family = AF_UNIX};
	memcpy(addr->sock.sun_path, path, len + 1);
	addr->len = (socklen_t)(HEADER + len + 1);
	return 0;
}

void
unix_addr_beside(struct unix_addr *addr, const char *what, const struct addr *ip)
{
	char text[ADDR_TEXT_SIZE];
	int len;

	addr_format(ip, text);
	*addr = (struct unix_addr){.sock.sun_family = AF_UNIX};
	len = snprintf(addr->sock.sun_path + 1, sizeof(addr->sock.sun_path) - 1,
		"rttmatrix-%.20s/%s", what, text);
	addr->len = (socklen_t)(HEADER + 1 + (size_t)len);
}

void
unix_addr_format(const struct unix_addr *addr, char out[static UNIX_TEXT_SIZE])
{
	const char *path = addr->sock.sun_path;
	int len = (int)(addr->len - HEADER);

	if (*path)
		snprintf(out, UNIX_TEXT_SIZE, "%s", path);
	else
		snprintf(out, UNIX_TEXT_SIZE, "@%.*s", len > 0 ? len - 1 : 0, path + 1);
}

static int
fail_at(const char *what, const struct unix_addr *addr, struct err *err)
{
	char text[UNIX_TEXT_SIZE], whole[UNIX_TEXT_SIZE + 40];

	unix_addr_format(addr, text);
	snprintf(whole, sizeof(whole), "%s Unix socket %s", what, text);
	return socket_fail(err, whole);
}

int
unix_listen(const struct unix_addr *addr, int type, int backlog, struct err *err)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return socket_fail(err, "Unix socket");
	if (bind(fd, (const struct sockaddr *)&addr->sock, addr->len) == 0 &&
		listen(fd, backlog) == 0)
		return fd;
	fail_at("listen on", addr, err);
	return socket_drop(fd);
}

int
unix_connect(const struct unix_addr *addr, int type, struct err *err)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return socket_fail(err, "Unix socket");
	if (connect(fd, (const struct sockaddr *)&addr->sock, addr->len) == 0)
		return fd;
	fail_at("connect to", addr, err);
	return socket_drop(fd);
}

/* An empty address asks the kernel for an abstract name (unix(7), autobind). */
static int
bind_any(int fd, struct unix_addr *bound)
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};

	*bound = (struct unix_addr){.len = sizeof(bound->sock)};
	if (bind(fd, (const struct sockaddr *)&any, HEADER) < 0)
		return -1;
	return getsockname(fd, (struct sockaddr *)&bound->sock, &bound->len);
}

int
unix_datagram_pair(int fds[static 2], struct err *err)
{
	struct unix_addr names[2];

	fds[0] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	fds[1] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fds[0] >= 0 && fds[1] >= 0 && bind_any(fds[0], &names[0]) == 0 &&
		bind_any(fds[1], &names[1]) == 0 &&
		connect(fds[0], (struct sockaddr *)&names[1].sock, names[1].len) == 0 &&
		connect(fds[1], (struct sockaddr *)&names[0].sock, names[0].len) == 0)
		return 0;
	socket_fail(err, "a pair of Unix datagram sockets");
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			socket_drop(fds[i]);
	return -1;
}

union ancillary {
	struct cmsghdr header;
	char room[CMSG_SPACE(UNIX_FDS_MAX * sizeof(int))];
};

int
unix_send_fds(int fd, const int *fds, size_t count, struct err *err)
{
	char byte = 0;
	struct iovec io = {&byte, 1};
	union ancillary ancillary = {0};
	struct msghdr message = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = ancillary.room,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)),
	};

	ancillary.header.cmsg_level = SOL_SOCKET;
	ancillary.header.cmsg_type = SCM_RIGHTS;
	ancillary.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&ancillary.header), fds, count * sizeof(int));
	if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
		return socket_fail(err, "pass descriptors");
	return 0;
}

/* The descriptors of a message, if it has exactly as many; else they are closed. */
static int
take_fds(const struct msghdr *message, int *fds, size_t count)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int came[UNIX_FDS_MAX];
	size_t len;

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return -1;
	len = header->cmsg_len - CMSG_LEN(0);
	memcpy(came, CMSG_DATA(header), len);
	if (len == count * sizeof(int) && !(message->msg_flags & MSG_CTRUNC)) {
		memcpy(fds, came, len);
		return 0;
	}
	for (size_t i = 0; i < len / sizeof(int); i++)
		close(came[i]);
	return -1;
}

int
unix_receive_fds(int fd, int *fds, size_t count, const struct wait *wait, struct err *err)
{
	char byte;
	struct iovec io = {&byte, 1};
	union ancillary ancillary = {0};
	struct msghdr message = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = ancillary.room,
		.msg_controllen = sizeof(ancillary),
	};

	while (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) < 0)
		if ((errno != EINTR && errno != EAGAIN) || wait_again(fd, POLLIN, wait) < 0)
			return socket_fail(err, "receive descriptors");
	if (take_fds(&message, fds, count) == 0)
		return 0;
	/* The kernel cuts off what this process may not open. */
	errno = message.msg_flags & MSG_CTRUNC ? EMFILE : EBADMSG;
	if (errno == EMFILE)
		return socket_fail(err, "receive descriptors");
	return err_set(err, "receive descriptors: %zu expected, others or none came", count);
}
