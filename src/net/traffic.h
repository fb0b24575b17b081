/* What the kernel counted: packets and bytes of an interface, UDP's overflows in the namespace.
 */
#ifndef NET_TRAFFIC_H
#define NET_TRAFFIC_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"

/* The interface that carries packets between two addresses, one of which is ours. */
struct traffic_device {
	char name[IF_NAMESIZE];
	bool loopback; /* what leaves it comes in again: both directions in one counter */
	bool ethernet; /* it counts a header of its own with each packet */
};

/* Both directions together; bytes from the IP header on, whatever is below it. */
struct traffic {
	int64_t packets, bytes;
};

/* Find it. -1 when no interface has the address `local`. */
int traffic_find(const struct addr *local, const struct addr *peer,
	struct traffic_device *device, struct err *err);

/* Its counters since it was made. */
int traffic_read(const struct traffic_device *device, struct traffic *traffic, struct err *err);

/* The same from the text of /proc/net/dev. */
int traffic_parse(const char *text, const struct traffic_device *device,
	struct traffic *traffic, struct err *err);

/* Datagrams that found no room, in the receive buffer of their socket or in what all of UDP may
 * have (UdpRcvbufErrors, UdpMemErrors), in this namespace since it was made. */
int traffic_udp_overflows(int family, int64_t *overflows, struct err *err);

/* The same from the text of /proc/net/snmp (AF_INET) or /proc/net/snmp6. */
int traffic_parse_udp_overflows(
	int family, const char *text, int64_t *overflows, struct err *err);

#endif
