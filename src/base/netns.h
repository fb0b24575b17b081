/* Network namespaces that are held by a descriptor only: when the last process that has it is
 * gone, so is the namespace with every device in it. Nothing is ever named under /run/netns. */
#ifndef BASE_NETNS_H
#define BASE_NETNS_H

#include <stdbool.h>

#include "base/err.h"

/* A fresh namespace with its loopback up; the caller stays where it was. Returns a descriptor
 * (close-on-exec) to close, or -1. */
int netns_new(struct err *err);

/* Open the namespace at `path`, e.g. /proc/PID/ns/net. Returns a descriptor, or -1. */
int netns_open(const char *path, struct err *err);

/* Make it this process's network namespace, for good: there may be no right to go back. Sockets
 * and descriptors stay where they were made. Needs no right to stay where we are. */
int netns_enter(int ns, struct err *err);

/* Make netns_new() work: as we are or, failing that (*entered is true then), by becoming root
 * of a new user namespace that maps only the present user and group, in a network namespace of
 * its own. Single-threaded callers only. -1 with both reasons and what mends them. */
int netns_prepare(bool *entered, struct err *err);

#endif
