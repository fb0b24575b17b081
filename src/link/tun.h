/* TUN devices: interfaces whose packets a program reads and writes. */
#ifndef LINK_TUN_H
#define LINK_TUN_H

#include "base/err.h"
#include "link/ends.h"

/* Make LINK_DEVICE as a TUN device in the namespace `ns`, which the process enters, with the
 * addresses of `end`. Returns a non-blocking descriptor that yields one IP packet a read; the
 * device lives as long as it. -1 on failure, LINK_UNSUPPORTED when the machine can't. */
int tun_open(int ns, enum end end, struct err *err);

#endif
