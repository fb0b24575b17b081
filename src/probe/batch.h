/* A batch of HTTP connections that are opened together, carry a request each at the same time,
 * and are closed together: by whom, and how, is the batch's to say. */
#ifndef PROBE_BATCH_H
#define PROBE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/addr.h"
#include "net/wait.h"

struct batch_conn;

struct batch {
	/* Set by the caller. */
	const struct addr *peer;
	struct wait wait;   /* not WAIT_BLOCK: all of them are under way at once */
	bool server_closes; /* first, when it is asked to; else the client does */
	bool reset;         /* whoever closes first sends a reset (SO_LINGER 0) */

	/* Kept by the batch. */
	uint16_t low, high; /* local ports to choose from; 0: the kernel's own */
	size_t max;
	struct batch_conn *conns;
	struct buf request, goodbye;
	char *bytes;
	int64_t connects; /* connections opened, or begun to be */
	int64_t no_port;  /* … not begun, since none of the ports from low to high was free */
};

/* Make room for `max` connections. Release with batch_free(), which closes what is open. */
void batch_init(struct batch *batch, size_t max);
void batch_free(struct batch *batch);

/* Take local ports from `low` to `high` only. -1 where the kernel cannot (before Linux 6.3). */
int batch_limit_ports(struct batch *batch, uint16_t low, uint16_t high, struct err *err);

/* Open `count` connections; *opened are, fewer only where low and high leave too few ports. */
int batch_open(struct batch *batch, size_t count, size_t *opened, struct err *err);

/* A request on each of the first `count`, and its reply. */
int batch_request(struct batch *batch, size_t count, struct err *err);

/* Close the first `count`. Where the server closes first, its end has come before we close
 * ours, so that the two ends are never closed at once. */
int batch_close(struct batch *batch, size_t count, struct err *err);

#endif
