/* TCP's socket options by number, and what the kernel says of a connection. */
#ifndef NET_TCP_OPTION_H
#define NET_TCP_OPTION_H

#include "base/err.h"

struct tcp_info; /* <linux/tcp.h> */

/* Set a TCP option; `name` is for the error. */
int tcp_set_option(int fd, int option, int value, const char *name, struct err *err);

/* TCP_INFO; fields that this kernel does not fill are 0. */
int tcp_read_info(int fd, struct tcp_info *info, struct err *err);

#endif
