/* How many TCP sockets are in which state, from the kernel's own list of sockets. */
#ifndef NET_CENSUS_H
#define NET_CENSUS_H

#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"

#define CENSUS_STATES                                                                          \
	16 /* indexed by the kernel's TCP_ESTABLISHED (1) … TCP_NEW_SYN_RECV (12) */

struct census {
	int64_t sockets[CENSUS_STATES];
	const char *source; /* "inet_diag" or "/proc/net/tcp" */
};

/* Count this network namespace's sockets that have `server` as their local or remote address
 * (those listening on all addresses with its port included). Both ends of a connection count
 * when both are in this namespace. Uses the netlink list; /proc when the kernel has no
 * inet_diag. */
int census_take(const struct addr *server, struct census *census, struct err *err);

/* The two sources by themselves, for tests that hold them against each other. */
int census_from_diag(const struct addr *server, struct census *census, struct err *err);
int census_from_proc(const struct addr *server, struct census *census, struct err *err);

#endif
