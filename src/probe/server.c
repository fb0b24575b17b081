/* The epoll loop of a serving half. */
#include "probe/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/tcp.h"
#include "net/udp.h"

#define BACKLOG 4096
#define READ_SIZE 16384
#define EVENTS 64
#define PORTS 20 /* how often a free port is looked for that is free in both protocols */

void
session_take(struct session *session, size_t len)
{
	struct buf *in = &session->in;

	in->len -= len;
	if (in->len > 0)
		memmove(in->data, in->data + len, in->len);
}

static void
close_session(struct server *server, struct session *session)
{
	if (session->next)
		session->next->prev = session->prev;
	if (session->prev)
		session->prev->next = session->next;
	else
		server->sessions = session->next;
	if (server->service->close)
		server->service->close(session->state);
	close(session->fd);
	buf_free(&session->in);
	free(session);
	server->open--;
}

/* Send what is due; what the peer does not take yet stays in `out`. -1: the connection is
 * broken. */
static int
flush_out(struct session *session)
{
	if (session->out_left == 0)
		return 0;
	while (session->out_left > 0) {
		ssize_t sent = send(session->fd, session->out, session->out_left, MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		session->out += sent;
		session->out_left -= (size_t)sent;
	}
	/* Closing with input unread would send a reset that can overtake the reply: only our
	 * direction is closed, the rest when the peer closes its own (RFC 9112, 9.6). */
	if (session->closing)
		shutdown(session->fd, SHUT_WR);
	return 0;
}

/* 1: received something, 0: nothing there, -1: the connection is over. */
static int
receive(struct server *server, struct session *session, size_t *got)
{
	char *room = buf_reserve(&session->in, READ_SIZE);
	ssize_t count = recv(session->fd, room, READ_SIZE, 0);

	if (count < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (count == 0)
		return -1;
	*got = (size_t)count;
	if (session->closing)
		return 1;
	if (server->idle_ns)
		session->active_ns = clock_now();
	session->in.len += *got;
	session->in.data[session->in.len] = '\0';
	return 1;
}

/* Answer every request that is complete, as far as the peer takes the replies. */
static int
answer(struct server *server, struct session *session)
{
	size_t before = session->in.len + 1;

	while (!session->closing && session->out_left == 0 && session->in.len > 0 &&
		session->in.len < before) {
		before = session->in.len;
		if (server->service->request(session, server->context) < 0 ||
			flush_out(session) < 0)
			return -1;
	}
	return 0;
}

/* Do all that can be done now. Events are edge-triggered, which spares the kernel a second look
 * at the socket for each request: so everything must be taken, and a read that did not fill its
 * buffer has taken everything, unless the peer's end is there too (epoll(7)). */
static int
pump(struct server *server, struct session *session, bool ended)
{
	int status;

	if (flush_out(session) < 0)
		return -1;
	for (;;) {
		size_t got = 0;

		if (answer(server, session) < 0)
			return -1;
		if (session->out_left > 0)
			return 0;
		status = receive(server, session, &got);
		if (status <= 0)
			return status;
		if (got < READ_SIZE && !ended)
			return answer(server, session);
	}
}

static void
handle(struct server *server, struct session *session, uint32_t events)
{
	if (pump(server, session, events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) < 0)
		close_session(server, session);
}

static int
open_session(struct server *server, int fd, struct err *err)
{
	struct session *session = alloc_zero(1, sizeof(*session));
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = session,
	};

	session->fd = fd;
	session->active_ns = clock_now();
	if (server->service->open)
		session->state = server->service->open(server->context);
	session->next = server->sessions;
	if (session->next)
		session->next->prev = session;
	server->sessions = session;
	server->accepted++;
	server->open++;
	if (tcp_nodelay(fd, err) < 0)
		return -1;
	if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return err_sys(err, "watch a connection");
	return 0;
}

/* Everything that waits in the queue. */
static int
accept_all(struct server *server, struct err *err)
{
	for (;;) {
		int fd = accept4(server->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0 && open_session(server, fd, err) < 0)
			return -1;
		if (fd < 0 && errno == EAGAIN)
			return 0;
		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			return err_sys(err, "accept");
	}
}

/* Close what has been idle too long; returns when the next one is due. */
static int64_t
close_idle(struct server *server, int64_t now)
{
	int64_t next_due = INT64_MAX;
	struct session *next;

	for (struct session *session = server->sessions; session; session = next) {
		int64_t due = session->active_ns + server->idle_ns;

		next = session->next;
		if (due <= now)
			close_session(server, session);
		else if (due < next_due)
			next_due = due;
	}
	return next_due;
}

/* One look at the events, waiting for them or not. 1: told to stop. */
static int
turn(struct server *server, const struct probe_call *call, struct err *err)
{
	struct epoll_event events[EVENTS];
	int64_t until = call->deadline_ns;
	int count, timeout;

	if (server->idle_ns) {
		int64_t due = close_idle(server, clock_now());

		until = due < until ? due : until;
	}
	if (server->datagram_due_ns && server->datagram_due_ns < until)
		until = server->datagram_due_ns;
	timeout = server->spin && (server->open || server->datagram) ? 0 : clock_poll_ms(until);
	count = epoll_wait(server->epoll_fd, events, EVENTS, timeout);
	if (count < 0 && errno != EINTR)
		return err_sys(err, "epoll_wait");
	for (int i = 0; i < count; i++) {
		void *source = events[i].data.ptr;

		if (source == &server->epoll_fd)
			return 1;
		if (source == &server->udp_fd)
			server->datagram(server->context);
		else if (source != &server->listen_fd)
			handle(server, source, events[i].events);
		else if (accept_all(server, err) < 0)
			return -1;
	}
	if (server->datagram_due_ns && clock_now() >= server->datagram_due_ns)
		server->datagram(server->context);
	if (clock_now() >= call->deadline_ns)
		return err_set(err, "serve: not stopped before the deadline");
	return 0;
}

static int
watch_own(struct server *server, int fd, void *mark)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};

	return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void
close_kept_errno(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
}

/* TCP and, if wanted, UDP at one port. Any port that is free in both will do for port 0. */
static int
listen_on(struct server *server, const struct addr *addr, struct err *err)
{
	int tries = addr_port(addr) == 0 ? PORTS : 1;
	struct addr same;

	server->udp_fd = -1;
	do {
		server->listen_fd = tcp_listen(addr, BACKLOG, &server->bound, err);
		if (server->listen_fd < 0)
			return -1;
		if (!server->datagram)
			return 0;
		server->udp_fd = udp_bind(&server->bound, &same, err);
		if (server->udp_fd >= 0)
			return 0;
		close_kept_errno(server->listen_fd);
	} while (errno == EADDRINUSE && --tries > 0);
	return -1;
}

/* Told to stop, go on until every connection is closed or the grace is over. */
static void
take_leave(struct server *server, const struct probe_call *call)
{
	struct probe_call rest = *call;
	int64_t until = clock_now() + server->grace_ns;

	if (until < rest.deadline_ns)
		rest.deadline_ns = until;
	epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, call->stop_fd, NULL);
	while (server->open && turn(server, &rest, NULL) == 0)
		;
}

int
server_run(struct server *server, const struct probe_call *call, struct err *err)
{
	int status;

	if (listen_on(server, &call->addr, err) < 0)
		return probe_not_listening(call);
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0 ||
		watch_own(server, server->listen_fd, &server->listen_fd) < 0 ||
		watch_own(server, call->stop_fd, &server->epoll_fd) < 0 ||
		(server->datagram && watch_own(server, server->udp_fd, &server->udp_fd) < 0)) {
		status = err_sys(err, "epoll");
		goto out;
	}
	status = server->listening ? server->listening(server->context, err) : 0;
	if (status == 0)
		probe_ready(&server->bound);
	while (status == 0)
		status = turn(server, call, err);
	if (status > 0 && server->grace_ns)
		take_leave(server, call);
out:
	while (server->sessions)
		close_session(server, server->sessions);
	close(server->epoll_fd);
	close(server->listen_fd);
	if (server->udp_fd >= 0)
		close(server->udp_fd);
	return status < 0 ? -1 : 0;
}
