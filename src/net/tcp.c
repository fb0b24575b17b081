/* TCP sockets with deadlines, and what the kernel says of them. */
#include "net/tcp.h"

#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <string.h>

#include "net/socket.h"

/* As socket_fail(), with words for what only TCP meets. */
static int
fail(struct err *err, const char *what)
{
	switch (errno) {
	case ETIME:
		return err_set(err, "%s: no answer before the deadline", what);
	case EADDRNOTAVAIL:
		return err_set(
			err, "%s: no local port is free, all are in use or in TIME_WAIT", what);
	default:
		return socket_fail(err, what);
	}
}

int
tcp_listen(const struct addr *addr, int backlog, struct addr *bound, struct err *err)
{
	char text[ADDR_TEXT_SIZE];
	int yes = 1;
	int fd = socket(addr_family(addr), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return fail(err, "socket");
	/* A port whose last server's connections are in TIME_WAIT can be listened on again. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, &addr->sock.any, addr->len) < 0 || listen(fd, backlog) < 0) {
		addr_format(addr, text);
		err_sys(err, "listen on %s", text);
		return socket_drop(fd);
	}
	if (addr_of_socket(fd, bound, err) < 0)
		return socket_drop(fd);
	return fd;
}

int
tcp_nodelay(int fd, struct err *err)
{
	int yes = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0)
		return fail(err, "set TCP_NODELAY");
	return 0;
}

int
tcp_linger_zero(int fd, struct err *err)
{
	static const struct linger zero = {.l_onoff = 1};

	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &zero, sizeof(zero)) < 0)
		return fail(err, "set SO_LINGER");
	return 0;
}

int
tcp_socket(int family, enum wait_how how, struct err *err)
{
	int type = SOCK_STREAM | SOCK_CLOEXEC | (how == WAIT_BLOCK ? 0 : SOCK_NONBLOCK);
	int fd = socket(family, type, 0);

	if (fd < 0)
		return fail(err, "socket");
	if (tcp_nodelay(fd, err) < 0)
		return socket_drop(fd);
	return fd;
}

int
tcp_connect_start(int fd, const struct addr *peer, struct err *err)
{
	if (connect(fd, &peer->sock.any, peer->len) < 0 && errno != EINPROGRESS)
		return fail(err, "connect");
	return 0;
}

int
tcp_connect_end(int fd, struct err *err)
{
	int reason;
	socklen_t len = sizeof(reason);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &len) < 0)
		return fail(err, "read SO_ERROR");
	errno = reason;
	return reason ? fail(err, "connect") : 0;
}

/* connect() on a socket that is connecting already waits, or says EALREADY, or how it ended: so
 * repeating it serves blocking sockets that a signal interrupted and spinning ones alike. */
int
tcp_connect(int fd, const struct addr *peer, const struct wait *wait, struct err *err)
{
	while (connect(fd, &peer->sock.any, peer->len) < 0) {
		if (errno == EISCONN)
			return 0;
		if (errno != EINPROGRESS && errno != EALREADY && errno != EINTR)
			return fail(err, "connect");
		if (wait_again(fd, POLLOUT, wait) < 0)
			return fail(err, "connect");
	}
	return 0;
}

int
tcp_send(int fd, const void *bytes, size_t len, const struct wait *wait, struct err *err)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);

		if (sent >= 0) {
			at += sent;
			len -= (size_t)sent;
		} else if ((errno != EAGAIN && errno != EINTR) ||
			   wait_again(fd, POLLOUT, wait) < 0) {
			return fail(err, "send");
		}
	}
	return 0;
}

ssize_t
tcp_receive(int fd, void *bytes, size_t len, const struct wait *wait, struct err *err)
{
	for (;;) {
		ssize_t got = recv(fd, bytes, len, 0);

		if (got >= 0)
			return got;
		if ((errno != EAGAIN && errno != EINTR) || wait_again(fd, POLLIN, wait) < 0)
			return fail(err, "receive");
	}
}

int
tcp_receive_all(int fd, void *bytes, size_t len, const struct wait *wait, struct err *err)
{
	size_t have = 0;

	while (have < len) {
		ssize_t got = tcp_receive(fd, (char *)bytes + have, len - have, wait, err);

		if (got < 0)
			return -1;
		if (got == 0) {
			errno = ECONNRESET;
			return err_set(err,
				"receive: the peer closed the connection after %zu of %zu "
				"bytes",
				have, len);
		}
		have += (size_t)got;
	}
	return 0;
}

int
tcp_retransmits(int fd, int64_t *count, struct err *err)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return fail(err, "read TCP_INFO");
	*count = info.tcpi_total_retrans;
	return 0;
}

int
tcp_carried(int fd, int64_t *packets, int64_t *bytes, struct err *err)
{
	struct tcp_info info = {0};
	struct addr local;
	socklen_t len = sizeof(info);
	int64_t header = 20;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return fail(err, "read TCP_INFO");
	if (addr_of_socket(fd, &local, err) < 0)
		return -1;
	header += addr_family(&local) == AF_INET6 ? 40 : 20;
	if (info.tcpi_options & TCPI_OPT_TIMESTAMPS)
		header += 12;
	*packets = (int64_t)info.tcpi_segs_out + info.tcpi_segs_in;
	*bytes = *packets * header + (int64_t)(info.tcpi_bytes_sent + info.tcpi_bytes_received);
	return 0;
}

int
tcp_congestion(int fd, char out[static TCP_CONGESTION_SIZE], struct err *err)
{
	socklen_t len = TCP_CONGESTION_SIZE - 1;

	memset(out, 0, TCP_CONGESTION_SIZE);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, out, &len) < 0)
		return fail(err, "read TCP_CONGESTION");
	return 0;
}

bool
tcp_lost(int error)
{
	return error == ETIMEDOUT || error == ECONNRESET || error == EPIPE ||
	       error == EHOSTUNREACH || error == ENETUNREACH;
}
