/* The kernel's counters of this network namespace, which only ever grow: what /proc/net/netstat
 * and /proc/net/snmp show (Linux's TcpExt; the MIBs of RFC 4022 and 4113). */
#ifndef NET_NETSTAT_H
#define NET_NETSTAT_H

#include <stdint.h>

#include "base/err.h"

/* The counter `name` of `group`: "DelayedACKs" of "TcpExt", "RcvbufErrors" of "Udp". -1 when
 * this kernel has none. */
int netstat_read(const char *group, const char *name, int64_t *value, struct err *err);

/* The same, from the text of such a file, called `path`. */
int netstat_find(const char *path, const char *text, const char *group, const char *name,
	int64_t *value, struct err *err);

#endif
