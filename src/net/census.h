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
	int64_t server[CENSUS_STATES]; /* of these, whose local address is the server's */
	const char *source;            /* "inet_diag" or "/proc/net/tcp" */
};

/* Count this network namespace's sockets that have `server` as their local or remote address
 * (those listening on all addresses with its port included). Both ends of a connection count
 * when both are in this namespace. Uses the netlink list; /proc when the kernel has no
 * inet_diag. */
int census_take(const struct addr *server, struct census *census, struct err *err);

/* Wait until every connection to `server` is closed or in TIME_WAIT, then count. A peer that
 * never closes its ends does not hold it up for more than two seconds, nor beyond the deadline.
 */
int census_settle(
	const struct addr *server, int64_t deadline_ns, struct census *census, struct err *err);

/* How many sockets ever went into TIME_WAIT in this network namespace. More than are in it: on
 * loopback a connect may take the port of one that is older than a second (tcp_tw_reuse). */
int census_time_wait_entered(int64_t *count, struct err *err);

/* Of a census: the sockets in any state but LISTEN and TIME_WAIT. */
int64_t census_open(const int64_t sockets[static CENSUS_STATES]);

/* The two sources by themselves, for tests that hold them against each other. */
int census_from_diag(const struct addr *server, struct census *census, struct err *err);
int census_from_proc(const struct addr *server, struct census *census, struct err *err);

#endif
