/* The two ends of the link: names, addresses, and how an interface is given them. */
#ifndef LINK_ENDS_H
#define LINK_ENDS_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"

struct space;

/* As the client sees them; the far one is the server's. */
enum end { NEAR, FAR, ENDS };

#define LINK_MTU 1500
#define LINK_PREFIX4 30
#define LINK_PREFIX6 64

struct end_address {
	const char *name;
	char device[IFNAMSIZ];       /* the interface's name */
	char ipv4[INET_ADDRSTRLEN];  /* 198.18.0.0/15 is set apart for benchmarks (RFC 2544) */
	char ipv6[INET6_ADDRSTRLEN]; /* fd52:7474:6d61::/48 is a unique local prefix (RFC 4193)
				      */
	unsigned char mac[6];
};

/* Of link 0, the only one where its namespaces are its own: link0 at both ends. */
extern const struct end_address end_addresses[ENDS];

/* Those of link `number`, which may share the namespace of its far end with others: there it is
 * link<number>. */
void ends_number(unsigned number, struct end_address ends[static ENDS]);

/* The number after the highest in use in `space`; 0 where there is none. -1 on failure, also
 * when there are no more. */
int ends_next_number(const struct space *space, unsigned *number, struct err *err);

/* Bring the device of `end` and lo up in the namespace of `rtnl` (a socket of rtnl_open()) and
 * give the device its addresses, usable at once. On a machine without IPv6 only IPv4 is set up:
 * end_has_ipv6() tells. */
int end_configure(
	int rtnl, const struct end_address *end, unsigned txqueuelen, struct err *err);

/* Know nothing any more of who has the other end's IPv4 address. */
int end_forget_peer(int rtnl, const struct end_address *end, const struct end_address *peer,
	struct err *err);

/* Does the device in `space` have its IPv6 address? */
bool end_has_ipv6(const struct space *space, const struct end_address *end);

/* The address of `end` with `port`; `family` is AF_INET or AF_INET6. Returns the length. */
socklen_t end_sockaddr(
	const struct end_address *end, int family, int port, struct sockaddr_storage *address);

#endif
