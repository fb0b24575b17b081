/* Entering network namespaces. */
#ifndef LINK_NETNS_H
#define LINK_NETNS_H

#include "base/err.h"

/* Open the namespace at `path`, e.g. /proc/PID/ns/net. Returns a descriptor, or -1. */
int netns_open(const char *path, struct err *err);

/* Make it this process's network namespace, for good: there may be no right to go back, so
 * whoever needs a namespace enters it first. Sockets and descriptors stay where they were made.
 */
int netns_enter(int ns, struct err *err);

/* A new namespace that this process enters; returns a descriptor for it. Without the privilege,
 * a new user namespace in which we are root is made around it. */
int netns_scratch(struct err *err);

#endif
