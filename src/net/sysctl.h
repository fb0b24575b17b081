/* The kernel's settings of this network namespace, by their path below /proc/sys. */
#ifndef NET_SYSCTL_H
#define NET_SYSCTL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Read "net/core/somaxconn" and the like: one whole number. */
int sysctl_read(const char *path, int64_t *value, struct err *err);

/* Set it, but never for the machine: only in a network namespace that a user namespace of its
 * own was made for, or that whoever started us is not in. -1 elsewhere, or when the kernel does
 * not let us. */
int sysctl_write(const char *path, int64_t value, struct err *err);

#endif
