/* A serving half: one process, one epoll loop, any number of TCP connections.
 *
 * A connection alternates between collecting input and sending a reply: what arrives is put
 * into `in`; the service takes a whole request off it and points `out` at the reply; nothing
 * more is read before the reply is gone, so a peer that does not read cannot fill our memory.
 */
#ifndef PROBE_SERVER_H
#define PROBE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "probe/probe.h"

struct session {
	int fd;
	struct buf in;   /* received and not yet taken */
	const char *out; /* being sent; the service's memory */
	size_t out_left;
	bool closing; /* send `out`, then close; more input is discarded */
	void *state;  /* the service's, made by open() */

	int64_t active_ns; /* when input last arrived; kept only when idle_ns is set */
	struct session *next, *prev;
};

struct service {
	/* State for a new connection, and its end. May be NULL. */
	void *(*open)(void *context);
	void (*close)(void *state);

	/* Take one request off session->in with session_take() if it is all there, set `out`,
	 * `out_left` and `closing`. -1 drops the connection. */
	int (*request)(struct session *session, void *context);
};

struct server {
	const struct service *service;
	void *context;
	bool spin;        /* never sleep while a connection is open */
	int64_t grace_ns; /* told to stop: serve for so long what is open; 0: close it at once
			   */
	int64_t idle_ns;  /* close connections without input for this long; 0: never */

	/* A service that takes UDP too, at the same port: called when `udp_fd` is readable, and
	 * at datagram_due_ns unless that is 0. NULL: UDP is refused. */
	void (*datagram)(void *context);
	int64_t datagram_due_ns;

	/* Called once `bound` is known, before any connection is accepted. -1 ends the half.
	 * May be NULL. */
	int (*listening)(void *context, struct err *err);

	struct addr bound; /* filled by server_run() before any connection is accepted */
	int64_t accepted;
	int64_t open;
	int listen_fd, udp_fd, epoll_fd;
	struct session *sessions;
};

/* Listen, announce, serve until call->stop_fd (0) or the deadline (-1). Prints no counters.
 * PROBE_UNSUPPORTED when it is to listen on IPv6 and there is none. */
int server_run(struct server *server, const struct probe_call *call, struct err *err);

/* Forget the first `len` bytes of the input. */
void session_take(struct session *session, size_t len);

#endif
