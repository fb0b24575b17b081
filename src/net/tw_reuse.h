/* The sysctl net.ipv4.tcp_tw_reuse: may a connect take the port of a socket in TIME_WAIT? */
#ifndef NET_TW_REUSE_H
#define NET_TW_REUSE_H

#include "base/err.h"

/* Set it for this network namespace: 0 never, 1 when it is older than a second. Refused, as -1,
 * where it is not ours to set: without the right to, and where the namespace is that of process
 * 1, which is the machine's (or a container's) own. */
int tw_reuse_set(int value, struct err *err);

/* What is in force; -1 when it cannot be read. */
int tw_reuse_get(int *value, struct err *err);

#endif
