/* Receives numbered messages and keeps account of them. */
#include "probe/receiver.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "net/tcp.h"
#include "net/traffic.h"
#include "net/udp.h"
#include "probe/arrivals.h"

#define BACKLOG 64
#define STREAM_SIZE 65536
#define HELLO_NS (10 * NS_PER_S)

struct receiver {
	struct receiver_setting setting;
	int64_t deadline_ns;
	pthread_mutex_t lock;
	struct receiver_counts totals;
};

struct session {
	struct receiver *receiver;
	int control, data;
	struct receiver_hello hello;
	struct arrivals arrivals;
	char *bytes;
	size_t room, held;         /* of a stream: the start of the next message */
	bool over;                 /* of a stream: its end */
	int64_t sent;              /* -1: not told yet */
	int64_t quiet_ns, last_ns; /* when something last came */
	struct addr local, peer;
	int64_t overflows; /* of the namespace, before; -1: the kernel shows none */
};

/* ---- the socket ---- */

/* SO_RXQ_OVFL comes with the next message only, so that it would miss a dropped tail: this
 * reads the same counter at any time. */
static int
read_drops(int fd, int64_t *drops, struct err *err)
{
	uint32_t memory[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(memory);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &len) < 0 ||
		len <= SK_MEMINFO_DROPS * sizeof(memory[0]))
		return err_sys(err, "read how many messages the socket dropped");
	*drops = memory[SK_MEMINFO_DROPS];
	return 0;
}

/* *effective: what the kernel counts against, twice what is asked for. */
static int
set_rcvbuf(int fd, int64_t rcvbuf, int *effective, struct err *err)
{
	int asked = (int)rcvbuf;
	socklen_t len = sizeof(*effective);

	if (rcvbuf && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &asked, sizeof(asked)) < 0)
		return err_sys(err, "set SO_RCVBUF");
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, effective, &len) < 0)
		return err_sys(err, "read SO_RCVBUF");
	return 0;
}

static int
open_data(enum transport transport, const struct addr *local, int64_t rcvbuf,
	struct addr *bound, int *effective, struct err *err)
{
	/* On a listener before it listens: an accepted socket's window scale comes from it. */
	int fd = transport == TRANSPORT_UDP ? udp_bind(local, bound, err)
					    : tcp_listen(local, 1, bound, err);

	if (fd >= 0 && set_rcvbuf(fd, rcvbuf, effective, err) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* What every client will ask for, tried once before any comes. */
static int
check_kernel(const struct receiver_setting *setting, struct addr addr, struct err *err)
{
	struct addr bound;
	int64_t drops;
	int effective, fd, status = 0;

	addr_set_port(&addr, 0);
	fd = open_data(setting->transport, &addr, setting->rcvbuf, &bound, &effective, err);
	if (fd < 0)
		return -1;
	if (read_drops(fd, &drops, err) < 0) {
		status = PROBE_UNSUPPORTED;
	} else if (effective < 2 * setting->rcvbuf) {
		err_set(err,
			"rcvbuf: the kernel gives %d bytes at most (net.core.rmem_max), not "
			"%" PRId64,
			effective / 2, setting->rcvbuf);
		status = PROBE_UNSUPPORTED;
	} else {
		record_info(stdout, "rcvbuf_effective", "%d", effective);
	}
	close(fd);
	return status;
}

/* ---- what comes ---- */

static int
note(struct session *session, const char *bytes, int64_t now_ns, struct err *err)
{
	int64_t work_ns = session->receiver->setting.work_ns;
	struct receiver_message message;

	memcpy(&message, bytes, sizeof(message));
	session->last_ns = now_ns;
	if (work_ns)
		clock_sleep_until(clock_now() + work_ns);
	return arrivals_note(&session->arrivals, message.number, now_ns - message.sent_ns, err);
}

/* All that is there. */
static int
take_datagrams(struct session *session, struct err *err)
{
	for (;;) {
		ssize_t got = recv(session->data, session->bytes, session->room, MSG_TRUNC);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (got < 0)
			return err_sys(err, "receive");
		if (got != session->hello.size)
			return err_set(err, "a message of %zd bytes came, expected %" PRId64,
				got, session->hello.size);
		if (note(session, session->bytes, clock_now(), err) < 0)
			return -1;
	}
}

static int
take_stream(struct session *session, struct err *err)
{
	size_t size = (size_t)session->hello.size, at = 0;
	ssize_t got = recv(session->data, session->bytes + session->held,
		session->room - session->held, 0);
	int64_t now_ns = clock_now();

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : err_sys(err, "receive");
	session->over = got == 0;
	session->held += (size_t)got;
	for (; session->held - at >= size; at += size)
		if (note(session, session->bytes + at, now_ns, err) < 0)
			return -1;
	session->held -= at;
	memmove(session->bytes, session->bytes + at, session->held);
	return 0;
}

/* How many were sent; what comes over a link with its queues comes behind them. */
static int
take_end(struct session *session, struct err *err)
{
	struct wait wait = {WAIT_POLL, session->receiver->deadline_ns};
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (session->sent >= 0)
		return err_set(err, "the client went away");
	if (tcp_receive_all(
		    session->control, &session->sent, sizeof(session->sent), &wait, err) < 0)
		return -1;
	if (session->sent < 0 || session->sent > session->hello.count)
		return err_set(err, "%" PRId64 " messages sent, %" PRId64 " announced",
			session->sent, session->hello.count);
	if (getsockopt(session->control, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return err_sys(err, "read TCP_INFO");
	session->last_ns = clock_now();
	session->quiet_ns = session->receiver->setting.drain_ns +
			    2 * (int64_t)info.tcpi_rtt * NS_PER_US;
	return 0;
}

/* A datagram that is late is lost; a stream brings everything, or breaks. */
static int64_t
give_up_ns(const struct session *session)
{
	if (session->sent < 0 || session->hello.transport == TRANSPORT_TCP)
		return session->receiver->deadline_ns;
	return session->last_ns + session->quiet_ns;
}

static bool
is_done(const struct session *session)
{
	return session->over ||
	       (session->sent >= 0 && (session->arrivals.delivered >= session->sent ||
					      clock_now() >= give_up_ns(session)));
}

static int
receive_all(struct session *session, struct err *err)
{
	bool spin = session->receiver->setting.spin;
	bool stream = session->hello.transport == TRANSPORT_TCP;
	struct pollfd fds[] = {{session->data, POLLIN, 0}, {session->control, POLLIN, 0}};

	while (!is_done(session)) {
		int64_t until = give_up_ns(session);

		if (poll(fds, 2, spin ? 0 : clock_poll_ms(until)) < 0 && errno != EINTR)
			return err_sys(err, "poll");
		if (fds[0].revents && (stream ? take_stream : take_datagrams)(session, err) < 0)
			return -1;
		if (fds[1].revents && take_end(session, err) < 0)
			return -1;
		if (clock_now() >= session->receiver->deadline_ns)
			return err_set(err, "not all was here before the deadline");
	}
	if (session->sent < 0 || (stream && session->arrivals.delivered < session->sent))
		return err_set(err, "the stream ended early");
	return 0;
}

/* ---- the account ---- */

/* A socket counts damaged datagrams among those it dropped, but it is the network that lost
 * them; a namespace counts those of other sockets too. No buffer can have dropped more than
 * either. */
static int
count_buffer(struct session *session, struct receiver_counts *counts, struct err *err)
{
	int64_t now;

	counts->buffer_overflows = -1;
	if (session->hello.transport == TRANSPORT_TCP)
		return 0;
	if (read_drops(session->data, &counts->lost_buffer, err) < 0)
		return -1;
	if (session->overflows < 0 ||
		traffic_udp_overflows(addr_family(&session->local), &now, NULL) < 0)
		return 0;
	counts->buffer_overflows = now - session->overflows;
	if (counts->buffer_overflows < counts->lost_buffer)
		counts->lost_buffer = counts->buffer_overflows;
	return 0;
}

static int
close_account(struct session *session, struct receiver_counts *counts, struct err *err)
{
	const struct arrivals *arrivals = &session->arrivals;

	*counts = (struct receiver_counts){
		.delivered = arrivals->delivered,
		.in_order = arrivals->in_order,
		.duplicates = arrivals->duplicates,
	};
	if (count_buffer(session, counts, err) < 0)
		return -1;
	return arrivals_close(
		arrivals, session->sent, counts->lost_buffer, &counts->lost_network, err);
}

static void
add_account(struct receiver *receiver, const struct receiver_counts *counts)
{
	struct receiver_counts *totals = &receiver->totals;

	pthread_mutex_lock(&receiver->lock);
	totals->delivered += counts->delivered;
	totals->in_order += counts->in_order;
	totals->duplicates += counts->duplicates;
	totals->lost_network += counts->lost_network;
	totals->lost_buffer += counts->lost_buffer;
	if (counts->buffer_overflows < 0 || totals->buffer_overflows < 0)
		totals->buffer_overflows = -1;
	else
		totals->buffer_overflows += counts->buffer_overflows;
	pthread_mutex_unlock(&receiver->lock);
}

/* ---- one client ---- */

static int
take_hello(struct session *session, const struct wait *wait, struct err *err)
{
	struct receiver_hello *hello = &session->hello;

	if (tcp_receive_all(session->control, hello, sizeof(*hello), wait, err) < 0)
		return -1;
	if (hello->magic != RECEIVER_MAGIC || hello->count < 1 ||
		hello->count > RECEIVER_COUNT_MAX ||
		hello->size < (int64_t)sizeof(struct receiver_message) ||
		hello->size > RECEIVER_SIZE_MAX || hello->port < 0 || hello->port > UINT16_MAX)
		return err_set(err, "not the hello of probe datagram");
	if (hello->transport != (int64_t)session->receiver->setting.transport)
		return err_set(err, "the two halves have different options: transport");
	return 0;
}

/* The port for the messages, and all memory. *fd is a listener or the socket itself. */
static int
open_port(struct session *session, struct receiver_answer *ready, int *fd, struct err *err)
{
	const struct receiver_setting *setting = &session->receiver->setting;
	struct addr bound, local = session->local, peer = session->peer;
	bool stream = setting->transport == TRANSPORT_TCP;
	int effective;

	arrivals_init(&session->arrivals, session->hello.count);
	session->room = (size_t)session->hello.size + (stream ? STREAM_SIZE : 0);
	session->bytes = alloc_zero(session->room, 1);
	addr_set_port(&local, 0);
	*fd = open_data(setting->transport, &local, setting->rcvbuf, &bound, &effective, err);
	if (*fd < 0)
		return -1;
	/* No one else's datagrams. */
	addr_set_port(&peer, (uint16_t)session->hello.port);
	if (!stream && connect(*fd, &peer.sock.any, peer.len) < 0)
		return err_sys(err, "connect UDP");
	if (traffic_udp_overflows(addr_family(&local), &session->overflows, NULL) < 0)
		session->overflows = -1;
	ready->port = addr_port(&bound);
	ready->clock_ns = clock_now();
	return 0;
}

/* The connection that the client was told to make, or its end. */
static int
accept_data(struct session *session, int listener, struct err *err)
{
	int64_t until = session->receiver->deadline_ns;
	struct pollfd fds[] = {{listener, POLLIN, 0}, {session->control, POLLIN, 0}};

	while (poll(fds, 2, clock_poll_ms(until)) <= 0 || !fds[0].revents)
		if (fds[1].revents || clock_now() >= until)
			return err_set(err, "no connection for the messages came");
	session->data = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	return session->data < 0 ? err_sys(err, "accept") : 0;
}

static int
begin(struct session *session, const struct wait *wait, struct err *err)
{
	struct receiver_answer ready = {0};
	int fd = -1, status = -1;

	if (take_hello(session, wait, err) == 0 && open_port(session, &ready, &fd, err) == 0)
		status = tcp_send(session->control, &ready, sizeof(ready), wait, err);
	if (session->hello.transport == TRANSPORT_TCP) {
		if (status == 0)
			status = accept_data(session, fd, err);
		if (fd >= 0)
			close(fd);
	} else {
		session->data = fd;
	}
	return status;
}

/* The account counts from here on, whether the client still hears of it or not. */
static int
finish(struct session *session, const struct wait *wait, struct err *err)
{
	struct receiver_answer account = {0};
	int64_t again;

	if (close_account(session, &account.counts, err) < 0)
		return -1;
	add_account(session->receiver, &account.counts);
	if (tcp_send(session->control, &account, sizeof(account), wait, err) < 0 ||
		tcp_receive_all(session->control, &again, sizeof(again), wait, err) < 0)
		return -1;
	return tcp_send(session->control, session->arrivals.delay_ns,
		(size_t)session->hello.count * sizeof(int64_t), wait, err);
}

/* Why it ends, and then whatever it sends, so that no reset overtakes the reason. */
static void
refuse(struct session *session, const struct wait *wait, const struct err *why)
{
	struct receiver_answer answer = {.status = -1};
	char rest[4096];

	snprintf(answer.reason, sizeof(answer.reason), "%s", why->text);
	if (tcp_send(session->control, &answer, sizeof(answer), wait, NULL) < 0)
		return;
	shutdown(session->control, SHUT_WR);
	while (tcp_receive(session->control, rest, sizeof(rest), wait, NULL) > 0)
		;
}

static void *
serve_client(void *data)
{
	struct session *session = data;
	struct wait hello = {WAIT_POLL, clock_now() + HELLO_NS};
	struct wait wait = {WAIT_POLL, session->receiver->deadline_ns};
	struct err err;

	if (begin(session, &hello, &err) < 0 || receive_all(session, &err) < 0 ||
		finish(session, &wait, &err) < 0)
		refuse(session, &wait, &err);
	if (session->data >= 0)
		close(session->data);
	close(session->control);
	arrivals_free(&session->arrivals);
	free(session->bytes);
	free(session);
	return NULL;
}

/* ---- all clients ---- */

static int
start_thread(struct session *session, struct err *err)
{
	pthread_t thread;

	if (thread_start(&thread, serve_client, session, err) < 0)
		return err_prefix(err, "a client");
	pthread_detach(thread);
	return 0;
}

static int
start_client(struct receiver *receiver, int fd, struct err *err)
{
	struct session *session = alloc_zero(1, sizeof(*session));
	struct err gone;
	int status = 0;

	*session = (struct session){
		.receiver = receiver,
		.control = fd,
		.data = -1,
		.sent = -1,
		.peer.len = sizeof(session->peer.sock),
	};
	if (addr_of_socket(fd, &session->local, &gone) == 0 && tcp_nodelay(fd, &gone) == 0 &&
		getpeername(fd, &session->peer.sock.any, &session->peer.len) == 0) {
		status = start_thread(session, err);
		if (status == 0)
			return 0;
	}
	close(fd);
	free(session);
	return status;
}

static int
accept_client(struct receiver *receiver, int listener, struct err *err)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		return start_client(receiver, fd, err);
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return 0;
	return err_sys(err, "accept");
}

static int
serve_all(struct receiver *receiver, int listener, int stop_fd, struct err *err)
{
	struct pollfd fds[] = {{stop_fd, POLLIN, 0}, {listener, POLLIN, 0}};

	for (;;) {
		int count = poll(fds, 2, clock_poll_ms(receiver->deadline_ns));

		if (count > 0 && fds[0].revents)
			return 0;
		if (count > 0 && accept_client(receiver, listener, err) < 0)
			return -1;
		if (clock_now() >= receiver->deadline_ns)
			return err_set(err, "serve: not stopped before the deadline");
	}
}

int
receiver_run(const struct receiver_setting *setting, const struct probe_call *call,
	struct receiver_counts *totals, struct err *err)
{
	/* Clients that are still at it when we return end with the process. */
	static struct receiver receiver = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct addr bound;
	int status, listener = tcp_listen(&call->addr, BACKLOG, &bound, err);

	if (listener < 0)
		return probe_not_listening(call);
	receiver.setting = *setting;
	receiver.deadline_ns = call->deadline_ns;
	status = check_kernel(setting, call->addr, err);
	if (status == 0) {
		probe_ready(&bound);
		status = serve_all(&receiver, listener, call->stop_fd, err);
	}
	close(listener);
	pthread_mutex_lock(&receiver.lock);
	*totals = receiver.totals;
	pthread_mutex_unlock(&receiver.lock);
	return status;
}
