/* UDP sockets. */
#ifndef NET_UDP_H
#define NET_UDP_H

#include "base/err.h"
#include "net/addr.h"

/* A non-blocking socket bound to `addr`; *bound says to which port. -1 with errno kept. */
int udp_bind(const struct addr *addr, struct addr *bound, struct err *err);

/* A non-blocking socket that sends to `peer` and receives from nobody else. */
int udp_connect(const struct addr *peer, struct err *err);

#endif
