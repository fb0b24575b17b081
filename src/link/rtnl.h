/* What we ask of rtnetlink: make a veth pair, bring interfaces up, give them addresses. */
#ifndef LINK_RTNL_H
#define LINK_RTNL_H

#include <stdint.h>

#include "base/err.h"
#include "link/ends.h"

struct rtnl_counters {
	int64_t tx_packets, tx_dropped;
	int64_t rx_packets, rx_dropped;
};

/* A socket to the kernel's routing tables of the current network namespace; close() it. -1 on
 * failure. It keeps speaking to that namespace when the process enters another. */
int rtnl_open(struct err *err);

/* A veth pair: one end here, one in the namespace `peer_ns`, both named LINK_DEVICE. */
int rtnl_add_veth(int rtnl, int peer_ns, const unsigned char mac[static 6],
	const unsigned char peer_mac[static 6], struct err *err);

/* Bring `device` up; a `queue` above 0 also sets its MTU to LINK_MTU and its txqueuelen. */
int rtnl_up(int rtnl, const char *device, unsigned queue, struct err *err);

/* Have LINK_DEVICE be given TCP segments one by one, however its offloads are set. */
int rtnl_one_segment(int rtnl, struct err *err);

/* Remove `device`, if it is there. */
void rtnl_delete(int rtnl, const char *device);

/* An address on LINK_DEVICE, usable at once (no duplicate address detection). `family` is
 * AF_INET or AF_INET6. */
int rtnl_add_address(
	int rtnl, int family, const char *address, unsigned prefix, struct err *err);

/* Who has `address` on LINK_DEVICE, for good: nothing needs to be asked over the link. */
int rtnl_add_neighbour(int rtnl, int family, const char *address,
	const unsigned char mac[static 6], struct err *err);

/* -1 with ENODEV's text when the device is gone. */
int rtnl_read_counters(
	int rtnl, const char *device, struct rtnl_counters *counters, struct err *err);

#endif
