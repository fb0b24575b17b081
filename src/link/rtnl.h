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

/* A socket to the kernel's routing tables of `space`; close() it. -1 on failure. It keeps
 * speaking to that namespace wherever this process is. */
int rtnl_open(const struct space *space, struct err *err);

/* A veth pair: the near end here, the far one in the namespace `far_ns`, with their names and
 * hardware addresses. */
int rtnl_add_veth(
	int rtnl, int far_ns, const struct end_address ends[static ENDS], struct err *err);

/* Bring `device` up; a `queue` above 0 also sets its MTU to LINK_MTU and its txqueuelen. */
int rtnl_up(int rtnl, const char *device, unsigned queue, struct err *err);

/* Have `device` be given TCP segments one by one, however its offloads are set. */
int rtnl_one_segment(int rtnl, const char *device, struct err *err);

/* Remove `device`, if it is there. */
void rtnl_delete(int rtnl, const char *device);

/* An address on `device`, usable at once (no duplicate address detection). `family` is
 * AF_INET or AF_INET6. */
int rtnl_add_address(int rtnl, const char *device, int family, const char *address,
	unsigned prefix, struct err *err);

/* Who has `address` behind `device`, for good: nothing needs to be asked over the link. */
int rtnl_add_neighbour(int rtnl, const char *device, int family, const char *address,
	const unsigned char mac[static 6], struct err *err);

/* Nobody knows who has `address` behind `device`; no error if that was so before. */
int rtnl_delete_neighbour(
	int rtnl, const char *device, int family, const char *address, struct err *err);

/* Everything that has no other route goes by `device` to the IPv4 address `gateway`. */
int rtnl_add_default_route(int rtnl, const char *device, const char *gateway, struct err *err);

/* Pass on IPv4 packets that come in by `device` and are for others. */
int rtnl_forward(int rtnl, const char *device, struct err *err);

/* -1 with ENODEV's text when the device is gone. */
int rtnl_read_counters(
	int rtnl, const char *device, struct rtnl_counters *counters, struct err *err);

#endif
