/* Two descriptors between two processes, whatever is behind them: a stream of bytes to whoever
 * sends and receives here (of messages, a socket that keeps their bounds delivers one a time).
 */
#ifndef PROBE_CHANNEL_H
#define PROBE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "net/wait.h"

struct channel {
	int in, out; /* one descriptor for a socket, two for a pair of pipes */
	int control; /* datagrams have no end: the peer is there while this is open; or -1 */
	struct wait wait;
	int64_t look_ns; /* when to look at `control` again */
	unsigned spins;  /* calls in vain: not after each of them is the clock read */
};

/* Take over the descriptors and make them wait as `wait` says (block or spin). -1: they are
 * closed. */
int channel_start(struct channel *channel, int in, int out, int control,
	const struct wait *wait, struct err *err);

/* Send all of it. */
int channel_send(struct channel *channel, const void *bytes, size_t len, struct err *err);

/* Receive what is there, at least one byte; 0 when the peer closed. */
ssize_t channel_receive(struct channel *channel, void *bytes, size_t len, struct err *err);

/* Receive exactly `len` bytes; a peer that closes before is an error. */
int channel_receive_all(struct channel *channel, void *bytes, size_t len, struct err *err);

void channel_close(struct channel *channel);

#endif
