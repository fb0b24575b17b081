/* TUN and TAP devices: interfaces whose packets a program reads and writes. */
#ifndef LINK_TUN_H
#define LINK_TUN_H

#include "base/err.h"
#include "link/ends.h"
#include "link/space.h"

enum tun_kind {
	TUN_PACKETS, /* TUN: one IP packet a read; knows no neighbours */
	TUN_FRAMES,  /* TAP: one Ethernet frame a read, with what asks for neighbours */
};

/* Make the device of `end` in the namespace of `rtnl` and of `space`, with its addresses.
 * Returns a non-blocking descriptor; the device lives as long as it. -1 on failure,
 * LINK_UNSUPPORTED when the machine can't. */
int tun_open(const struct space *space, int rtnl, const struct end_address *end,
	enum tun_kind kind, struct err *err);

#endif
