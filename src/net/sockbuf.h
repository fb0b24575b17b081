/* The sizes of a socket's buffers, asked for and as the kernel has them. */
#ifndef NET_SOCKBUF_H
#define NET_SOCKBUF_H

#include <stdint.h>

#include "base/err.h"

enum sockbuf { SOCKBUF_SEND, SOCKBUF_RECEIVE };

/* Ask for `bytes`, which ends the kernel's own tuning of that buffer; the kernel doubles the
 * figure for its bookkeeping, and has a least size. -1, with errno ENOBUFS, when it would give
 * less than was asked for: the error names the limit. */
int sockbuf_set(int fd, enum sockbuf which, int64_t bytes, struct err *err);

/* The size in force, as the kernel counts it. */
int sockbuf_get(int fd, enum sockbuf which, int64_t *bytes, struct err *err);

#endif
