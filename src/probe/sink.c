/* The epoll loop of a reader that can sleep. */
#include "probe/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/netstat.h"
#include "net/sockbuf.h"
#include "net/tcp.h"

#define BACKLOG 128
/* Stays in a core's cache: a window of 1 MiB moved a third faster than with reads of 256 KiB.
 */
#define READ_SIZE (1 << 16)
#define READS 16 /* of one connection before another look at all of them */

enum state { STATE_REQUEST, STATE_ASLEEP, STATE_READING };

struct sink_session {
	int fd;
	enum state state;
	struct sink_request request;
	size_t have; /* bytes of it */
	struct sink_report report;
	int64_t zero_windows; /* the kernel's counter when the connection fell asleep */
	struct sink_session *next, *prev;
};

static int
count_zero_windows(int64_t *count, struct err *err)
{
	return netstat_read("TcpExt", "TCPToZeroWindowAdv", count, err);
}

static void
close_session(struct sink *sink, struct sink_session *session)
{
	if (session->next)
		session->next->prev = session->prev;
	if (session->prev)
		session->prev->next = session->next;
	else
		sink->sessions = session->next;
	close(session->fd);
	free(session);
	sink->open--;
}

/* An event is wanted unless the reader is asleep; errors are always shown. */
static int
watch(struct sink *sink, struct sink_session *session, int operation)
{
	struct epoll_event event = {
		.events = session->state == STATE_ASLEEP ? 0 : EPOLLIN,
		.data.ptr = session,
	};

	return epoll_ctl(sink->epoll_fd, operation, session->fd, &event);
}

/* It is small and the first, or last, thing sent: it fits into the socket's buffer. */
static int
send_report(struct sink_session *session)
{
	const struct sink_report *report = &session->report;

	return send(session->fd, report, sizeof(*report), MSG_NOSIGNAL) == sizeof(*report) ? 0
											   : -1;
}

static void
start_reading(struct sink_session *session)
{
	session->state = STATE_READING;
	session->report.started_ns = clock_now();
}

/* Let the connection of that id be read; one that is gone by now is no error of ours. */
static int
wake(struct sink *sink, uint64_t id, struct err *err)
{
	struct sink_session *session = sink->sessions;
	int64_t now;

	while (session && session->report.id != id)
		session = session->next;
	if (!session || session->state != STATE_ASLEEP)
		return 0;
	if (count_zero_windows(&now, err) < 0)
		return -1;
	sink->zero_windows += now - session->zero_windows;
	start_reading(session);
	if (watch(sink, session, EPOLL_CTL_MOD) < 0)
		return err_sys(err, "watch a connection");
	return 0;
}

/* 0, -1: the connection is of no use, -2: neither is the server. */
static int
obey(struct sink *sink, struct sink_session *session, struct err *err)
{
	session->have = 0;
	if (session->request.kind == SINK_WAKE)
		return wake(sink, session->request.id, err) < 0 ? -2 : 0;
	if (session->request.kind != SINK_READ && session->request.kind != SINK_SLEEP)
		return -1;
	sink->connections++;
	session->report.id = ++sink->next_id;
	if (sockbuf_get(session->fd, SOCKBUF_RECEIVE, &session->report.rcvbuf, err) < 0 ||
		count_zero_windows(&session->zero_windows, err) < 0)
		return -2;
	if (session->request.kind == SINK_READ)
		start_reading(session);
	else
		session->state = STATE_ASLEEP;
	if (watch(sink, session, EPOLL_CTL_MOD) < 0) {
		err_sys(err, "watch a connection");
		return -2;
	}
	return send_report(session);
}

static int
take_request(struct sink *sink, struct sink_session *session, struct err *err)
{
	size_t size = sizeof(session->request);
	ssize_t got = recv(session->fd, (char *)&session->request + session->have,
		size - session->have, 0);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (got == 0)
		return -1;
	session->have += (size_t)got;
	return session->have == size ? obey(sink, session, err) : 0;
}

/* All there is, or enough of it for now. -1 after the end. */
static int
take_bytes(struct sink *sink, struct sink_session *session, struct err *err)
{
	for (int i = 0; i < READS; i++) {
		ssize_t got = recv(session->fd, sink->bytes, READ_SIZE, 0);

		if (got < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		if (got == 0) {
			if (sockbuf_get(session->fd, SOCKBUF_RECEIVE, &session->report.rcvbuf,
				    err) < 0)
				return -2;
			send_report(session);
			return -1;
		}
		session->report.bytes += got;
		sink->received += got;
	}
	return 0;
}

/* -1 ends the server. */
static int
handle(struct sink *sink, struct sink_session *session, struct err *err)
{
	int status = -1;

	if (session->state == STATE_REQUEST)
		status = take_request(sink, session, err);
	else if (session->state == STATE_READING)
		status = take_bytes(sink, session, err);
	if (status < 0)
		close_session(sink, session);
	return status == -2 ? -1 : 0;
}

static int
open_session(struct sink *sink, int fd, struct err *err)
{
	struct sink_session *session = alloc_zero(1, sizeof(*session));

	session->fd = fd;
	session->next = sink->sessions;
	if (session->next)
		session->next->prev = session;
	sink->sessions = session;
	sink->open++;
	if (tcp_nodelay(fd, err) < 0)
		return -1;
	return watch(sink, session, EPOLL_CTL_ADD) < 0 ? err_sys(err, "watch a connection") : 0;
}

static int
accept_one(struct sink *sink, struct err *err)
{
	int fd = accept4(sink->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		return open_session(sink, fd, err);
	if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
		return 0;
	return err_sys(err, "accept");
}

/* One look at the events. 1: told to stop. */
static int
turn(struct sink *sink, const struct probe_call *call, struct err *err)
{
	struct epoll_event event;
	int timeout = sink->spin && sink->open ? 0 : clock_poll_ms(call->deadline_ns);
	int count = epoll_wait(sink->epoll_fd, &event, 1, timeout);

	if (count < 0 && errno != EINTR)
		return err_sys(err, "epoll_wait");
	if (clock_now() >= call->deadline_ns)
		return err_set(err, "serve: not stopped before the deadline");
	if (count <= 0)
		return 0;
	if (event.data.ptr == &sink->epoll_fd)
		return 1;
	if (event.data.ptr == &sink->listen_fd)
		return accept_one(sink, err);
	return handle(sink, event.data.ptr, err);
}

static int
watch_own(struct sink *sink, int fd, void *mark)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = mark};

	return epoll_ctl(sink->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* Accepted connections inherit the listening socket's buffer, and their window scale goes by it
 * from the first SYN on. */
static int
listen_on(struct sink *sink, const struct probe_call *call, struct addr *bound, struct err *err)
{
	sink->listen_fd = tcp_listen(&call->addr, BACKLOG, bound, err);
	if (sink->listen_fd < 0)
		return probe_not_listening(call);
	if (!sink->rcvbuf ||
		sockbuf_set(sink->listen_fd, SOCKBUF_RECEIVE, sink->rcvbuf, err) == 0)
		return 0;
	return errno == ENOBUFS ? PROBE_UNSUPPORTED : -1;
}

int
sink_run(struct sink *sink, const struct probe_call *call, struct err *err)
{
	struct addr bound;
	int status;

	sink->epoll_fd = -1;
	sink->bytes = alloc_zero(1, READ_SIZE);
	status = listen_on(sink, call, &bound, err);
	if (status)
		goto out;
	sink->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (sink->epoll_fd < 0 || watch_own(sink, sink->listen_fd, &sink->listen_fd) < 0 ||
		watch_own(sink, call->stop_fd, &sink->epoll_fd) < 0) {
		status = err_sys(err, "epoll");
		goto out;
	}
	probe_ready(&bound);
	do
		status = turn(sink, call, err);
	while (status == 0);
	status = status < 0 ? -1 : 0;
out:
	while (sink->sessions)
		close_session(sink, sink->sessions);
	if (sink->epoll_fd >= 0)
		close(sink->epoll_fd);
	if (sink->listen_fd >= 0)
		close(sink->listen_fd);
	free(sink->bytes);
	return status;
}
