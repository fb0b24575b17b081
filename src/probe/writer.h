/* A TCP connection that is written to without end, and how it is waited for when it takes no
 * more. Never more than a write at a time, so that whoever calls keeps the time. */
#ifndef PROBE_WRITER_H
#define PROBE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct writer {
	int fd;
	const char *bytes;
	size_t size; /* of a write */
	bool spin;
	int64_t deadline_ns;
	int64_t sent; /* bytes taken so far */
};

/* One write. The bytes taken, 0 when the socket takes none, -1. */
ssize_t writer_write(struct writer *writer, struct err *err);

/* Until the socket takes bytes again (1), or it is `until_ns` (0). -1 with errno ETIME at the
 * deadline. */
int writer_await(const struct writer *writer, int64_t until_ns, struct err *err);

/* Keep the socket full until then. */
int writer_fill_until(struct writer *writer, int64_t until_ns, struct err *err);

#endif
