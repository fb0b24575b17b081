/* The two ends of the link: names, addresses, and how an interface is given them. */
#ifndef LINK_ENDS_H
#define LINK_ENDS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"

/* As the client sees them; the far one is the server's. */
enum end { NEAR, FAR, ENDS };

#define LINK_DEVICE "link0" /* the interface's name, in both namespaces */
#define LINK_MTU 1500
#define LINK_PREFIX4 30
#define LINK_PREFIX6 64

struct end_address {
	const char *name;
	const char *ipv4; /* 198.18.0.0/15 is set apart for benchmarks (RFC 2544) */
	const char *ipv6; /* fd52:7474:6d61::/48 is a unique local prefix (RFC 4193) */
	unsigned char mac[6];
};

extern const struct end_address end_addresses[ENDS];

/* Bring LINK_DEVICE and lo up in the current namespace and give LINK_DEVICE the addresses of
 * `end`, usable at once. On a machine without IPv6 only IPv4 is set up: end_has_ipv6() tells.
 */
int end_configure(enum end end, unsigned txqueuelen, struct err *err);

/* Does LINK_DEVICE of the current namespace have its IPv6 address? */
bool end_has_ipv6(enum end end);

/* The address of `end` with `port`; `family` is AF_INET or AF_INET6. Returns the length. */
socklen_t end_sockaddr(enum end end, int family, int port, struct sockaddr_storage *address);

#endif
