/* A server that reads what it is sent and throws it away, at once or not before it is told to.
 *
 * A connection starts with a request:
 *   SINK_READ    the bytes that follow are read as they come,
 *   SINK_SLEEP   they are left where they are, in the socket's buffer,
 *   SINK_WAKE    until this, on another connection, names the `id` of the first.
 * The first two are answered by a report before any byte may follow, and by another one when
 * the client has closed its direction and all of it is read. SINK_WAKE is not answered. */
#ifndef PROBE_SINK_H
#define PROBE_SINK_H

#include <stdint.h>

#include "base/err.h"
#include "probe/probe.h"

enum sink_kind { SINK_READ = 1, SINK_SLEEP, SINK_WAKE };

/* Both halves run on one machine, as their common clock has it: so do their integers agree. */
struct sink_request {
	uint64_t kind;
	uint64_t id; /* SINK_WAKE only */
};

struct sink_report {
	uint64_t id;
	int64_t started_ns; /* when reading began; CLOCK_MONOTONIC */
	int64_t bytes;      /* read behind the request */
	int64_t rcvbuf;     /* effective SO_RCVBUF of the connection */
};

struct sink {
	int64_t rcvbuf; /* of all connections; 0: as the kernel likes */
	bool spin;      /* never sleep while a connection is open */

	int64_t connections;  /* that were asked to read */
	int64_t received;     /* bytes */
	int64_t zero_windows; /* closed by the kernel before SINK_WAKE */

	int listen_fd, epoll_fd;
	uint64_t next_id;
	int64_t open;
	struct sink_session *sessions;
	char *bytes;
};

/* Listen, announce, serve until call->stop_fd (0) or the deadline (-1). PROBE_UNSUPPORTED when
 * it is to listen on IPv6 and there is none, or the kernel allows no such buffer. */
int sink_run(struct sink *sink, const struct probe_call *call, struct err *err);

#endif
