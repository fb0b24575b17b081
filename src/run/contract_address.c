/* Reads the addresses of serving halves, and connects to one. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/units.h"
#include "run/contract.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "127.0.0.1:80" or "[::1]:80"; false when it is no literal address with a port. */
static bool
parse_address(const char *text, union address *address)
{
	const char *colon = strrchr(text, ':');
	bool six = *text == '[';
	char *host;
	int64_t port;
	bool good;

	if (!colon || (six && colon[-1] != ']') ||
		units_parse_count(colon + 1, &port, NULL) < 0 || port > 65535)
		return false;
	host = alloc_text_n(text + six, (size_t)(colon - text) - (six ? 2 : 0));
	memset(address, 0, sizeof(*address));
	if (six) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons((uint16_t)port);
		good = inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1;
	} else {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons((uint16_t)port);
		good = inet_pton(AF_INET, host, &address->v4.sin_addr) == 1;
	}
	free(host);
	return good;
}

/* The same host, and a port in `text`? */
static bool
fits(const union address *asked, const union address *came)
{
	if (asked->any.sa_family != came->any.sa_family)
		return false;
	if (asked->any.sa_family == AF_INET6)
		return came->v6.sin6_port && !memcmp(&asked->v6.sin6_addr, &came->v6.sin6_addr,
						     sizeof(came->v6.sin6_addr));
	return came->v4.sin_port && asked->v4.sin_addr.s_addr == came->v4.sin_addr.s_addr;
}

int
contract_ready(const char *asked, const char *text, struct err *err)
{
	union address want, came;

	if (parse_address(asked, &want) && parse_address(text, &came) && fits(&want, &came))
		return 0;
	return err_set(err, "expected 'ready' with %.*s and its real port, came 'ready %s'",
		(int)(strrchr(asked, ':') - asked), asked, text);
}

int
contract_connect(const char *address)
{
	union address peer;
	socklen_t len;
	int fd;

	if (!parse_address(address, &peer))
		return -1;
	len = peer.any.sa_family == AF_INET6 ? sizeof(peer.v6) : sizeof(peer.v4);
	/* On the loopback it is established before connect() returns. */
	fd = socket(peer.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, &peer.any, len) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}
