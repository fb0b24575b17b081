/* UDP sockets. */
#include "net/udp.h"

#include "net/socket.h"

static int
open_socket(int family, struct err *err)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? err_sys(err, "socket") : fd;
}

int
udp_bind(const struct addr *addr, struct addr *bound, struct err *err)
{
	char text[ADDR_TEXT_SIZE];
	int fd = open_socket(addr_family(addr), err);

	if (fd < 0)
		return -1;
	if (bind(fd, &addr->sock.any, addr->len) < 0) {
		addr_format(addr, text);
		err_sys(err, "listen on UDP %s", text);
		return socket_drop(fd);
	}
	if (addr_of_socket(fd, bound, err) < 0)
		return socket_drop(fd);
	return fd;
}

int
udp_connect(const struct addr *peer, struct err *err)
{
	int fd = open_socket(addr_family(peer), err);

	if (fd < 0)
		return -1;
	if (connect(fd, &peer->sock.any, peer->len) < 0) {
		err_sys(err, "connect UDP");
		return socket_drop(fd);
	}
	return fd;
}
