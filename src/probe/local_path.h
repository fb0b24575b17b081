/* The ways between two processes of one machine, each as a channel.
 *
 * The server listens on its TCP port, which is the channel of `tcp`, and for all others on a
 * Unix socket beside it: an abstract one named after that address, which lives in the network
 * namespace, so the halves need not see the same files. A connection to it is the channel
 * (unix, seqpacket), or what the server passes over it is: one end of a socket pair, of two
 * datagram sockets, of two pipes. */
#ifndef PROBE_LOCAL_PATH_H
#define PROBE_LOCAL_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"
#include "net/unix.h"
#include "net/wait.h"
#include "probe/channel.h"

/* In the order of the option. */
#define LOCAL_WAYS "unix|tcp|seqpacket|dgram|socketpair|pipe"
enum local_way { WAY_UNIX, WAY_TCP, WAY_SEQPACKET, WAY_DGRAM, WAY_SOCKETPAIR, WAY_PIPE };

struct local_path {
	enum local_way way;
	bool nagle;       /* tcp: leave Nagle's algorithm on */
	const char *file; /* unix, seqpacket: a file instead of an abstract name; or NULL */
};

/* Refuse what does not go together, and a `file` that is too long. */
int local_path_check(const struct local_path *path, struct err *err);

/* Can one message have so many bytes here? What keeps the bounds of messages takes none that
 * exceeds its send buffer. */
bool local_path_takes(const struct local_path *path, int64_t size, struct err *err);

/* The Unix socket of a server on `ip`; not of `tcp`. */
void local_path_name(
	const struct local_path *path, const struct addr *ip, struct unix_addr *name);

/* Listen on it. Returns the descriptor, non-blocking. */
int local_path_listen(const struct local_path *path, const struct addr *ip, struct err *err);

/* The channel of a connection that was accepted; `fd` is taken over. 1 when the client went
 * away meanwhile. */
int local_path_accept(const struct local_path *path, int fd, const struct wait *wait,
	struct channel *channel, struct err *err);

/* The channel to the server on `peer`. */
int local_path_connect(const struct local_path *path, const struct addr *peer,
	const struct wait *wait, struct channel *channel, struct err *err);

/* How many bytes the sending end of a channel holds; -1 when the kernel does not say. */
int local_path_buffer(const struct local_path *path, const struct channel *channel);

#endif
