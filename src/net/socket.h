/* What sockets of every kind do when something fails. */
#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include "base/err.h"

/* As err_sys(), with words for a reason whose usual text hides what to do. */
int socket_fail(struct err *err, const char *what);

/* Close without losing the errno of what went wrong before. Returns -1. */
int socket_drop(int fd);

#endif
