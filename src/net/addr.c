/* Read and print literal IPv4 and IPv6 addresses with a port. */
#include "net/addr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

static int
refuse(const char *text, struct err *err)
{
	return err_set(err,
		"'%.60s' is not an address: expected one like 127.0.0.1:80 or [::1]:80", text);
}

/* Split off the host part; returns where the port starts, or NULL. */
static const char *
split(const char *text, char host[static INET6_ADDRSTRLEN])
{
	const char *start = *text == '[' ? text + 1 : text;
	const char *end = strchr(start, *text == '[' ? ']' : ':');
	size_t len = end ? (size_t)(end - start) : 0;

	if (len == 0 || len >= INET6_ADDRSTRLEN)
		return NULL;
	memcpy(host, start, len);
	host[len] = '\0';
	end += *text == '[';
	return *end == ':' ? end + 1 : NULL;
}

int
addr_parse(const char *text, struct addr *addr, struct err *err)
{
	char host[INET6_ADDRSTRLEN];
	const char *port = split(text, host);
	int64_t number;

	*addr = (struct addr){0};
	if (!port || units_parse_count(port, &number, NULL) < 0 || number > UINT16_MAX)
		return refuse(text, err);
	if (*text == '[' && inet_pton(AF_INET6, host, &addr->sock.v6.sin6_addr) == 1) {
		addr->sock.v6.sin6_family = AF_INET6;
		addr->sock.v6.sin6_port = htons((uint16_t)number);
		addr->len = sizeof(addr->sock.v6);
		return 0;
	}
	if (*text != '[' && inet_pton(AF_INET, host, &addr->sock.v4.sin_addr) == 1) {
		addr->sock.v4.sin_family = AF_INET;
		addr->sock.v4.sin_port = htons((uint16_t)number);
		addr->len = sizeof(addr->sock.v4);
		return 0;
	}
	return refuse(text, err);
}

void
addr_format(const struct addr *addr, char out[static ADDR_TEXT_SIZE])
{
	char host[INET6_ADDRSTRLEN] = "?";
	bool six = addr_family(addr) == AF_INET6;
	const void *bytes = six ? (const void *)&addr->sock.v6.sin6_addr
				: (const void *)&addr->sock.v4.sin_addr;

	inet_ntop(addr_family(addr), bytes, host, sizeof(host));
	snprintf(out, ADDR_TEXT_SIZE, six ? "[%s]:%u" : "%s:%u", host,
		(unsigned)addr_port(addr));
}

int
addr_of_socket(int fd, struct addr *addr, struct err *err)
{
	*addr = (struct addr){.len = sizeof(addr->sock)};
	if (getsockname(fd, &addr->sock.any, &addr->len) < 0)
		return err_sys(err, "read the address of a socket");
	return 0;
}

bool
addr_equal(const struct addr *a, const struct addr *b)
{
	if (addr_family(a) != addr_family(b) || addr_port(a) != addr_port(b))
		return false;
	if (addr_family(a) == AF_INET6)
		return !memcmp(&a->sock.v6.sin6_addr, &b->sock.v6.sin6_addr, 16);
	return a->sock.v4.sin_addr.s_addr == b->sock.v4.sin_addr.s_addr;
}

int
addr_family(const struct addr *addr)
{
	return addr->sock.any.sa_family;
}

uint16_t
addr_port(const struct addr *addr)
{
	return ntohs(addr_family(addr) == AF_INET6 ? addr->sock.v6.sin6_port
						   : addr->sock.v4.sin_port);
}

void
addr_set_port(struct addr *addr, uint16_t port)
{
	/* At the same place in both families. */
	addr->sock.v4.sin_port = htons(port);
}
