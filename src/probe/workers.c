/* The epoll loop of a requesting half, and what becomes of each connection. */
#include "probe/workers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ring.h"
#include "probe/http.h"

#define READ_SIZE 65536

struct worker {
	int64_t want_ns; /* when it wanted a connection, */
	int64_t have_ns; /* and when it had one */
};

struct conn {
	int fd;                /* -1: not open */
	struct worker *worker; /* NULL: idle */
	bool established;
	bool reused;  /* has carried a reply */
	bool started; /* a byte of the present reply was seen */
	size_t sent;  /* of the present request */
	struct http_reader *reader;
};

struct client {
	const struct workers_plan *plan;
	struct workers_result *result;
	struct conn_pool pool;
	struct conn *conns; /* by the pool's numbers */
	struct worker *workers;
	struct ring ready; /* workers that want to go on */
	struct epoll_event *events;
	int epoll_fd;
	struct buf request;
	char *bytes;
	int64_t issued;
};

/* Keeps errno. */
static void
hang_up(struct conn *conn)
{
	int saved = errno;

	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
	errno = saved;
}

static int
dial(struct client *client, struct conn *conn, struct err *err)
{
	const struct addr *peer = client->plan->peer;
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = conn,
	};

	conn->established = conn->reused = conn->started = false;
	conn->sent = 0;
	http_reader_reset(conn->reader);
	conn->fd = tcp_socket(addr_family(peer), WAIT_POLL, err);
	if (conn->fd < 0)
		return -1;
	client->result->connects++;
	if (client->plan->reset && tcp_linger_zero(conn->fd, err) < 0)
		return -1;
	if (tcp_connect_start(conn->fd, peer, err) < 0)
		return -1;
	if (epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, conn->fd, &event) < 0)
		return err_sys(err, "watch a connection");
	return 0;
}

static int lose(struct client *client, struct conn *conn, struct err *err);

/* The functions from here on settle what the path does to a request by themselves; -1 ends the
 * run. */

static int
open_for(struct client *client, struct worker *worker, size_t number, struct err *err)
{
	struct conn *conn = &client->conns[number];

	conn->worker = worker;
	return dial(client, conn, err) < 0 ? lose(client, conn, err) : 0;
}

/* The connection was closed: a worker that waits may open another. */
static int
make_room(struct client *client, struct conn *conn, struct err *err)
{
	size_t worker, opened;

	conn->worker = NULL;
	if (conn_pool_closed(&client->pool, (size_t)(conn - client->conns), &worker, &opened) !=
		POOL_OPEN)
		return 0;
	return open_for(client, &client->workers[worker], opened, err);
}

static void
be_ready(struct client *client, const struct worker *worker)
{
	ring_push(&client->ready, (size_t)(worker - client->workers));
}

/* A request failed, with the reason in errno: once more if the connection was old, lost if it
 * was the path, the end of the run if it was anything else. */
static int
lose(struct client *client, struct conn *conn, struct err *err)
{
	bool again = conn->reused && !conn->started && (errno == ECONNRESET || errno == EPIPE);
	struct worker *worker = conn->worker;

	if (!again && !tcp_lost(errno))
		return -1;
	hang_up(conn);
	if (again) {
		client->result->reconnects++;
		return open_for(client, worker, (size_t)(conn - client->conns), err);
	}
	client->result->lost++;
	be_ready(client, worker);
	return make_room(client, conn, err);
}

/* Send what is left of the request, as far as the socket takes it. */
static int
send_request(struct client *client, struct conn *conn, struct err *err)
{
	const struct buf *request = &client->request;

	while (conn->sent < request->len) {
		ssize_t sent = send(conn->fd, request->data + conn->sent,
			request->len - conn->sent, MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EAGAIN ? 0 : err_sys(err, "send");
		conn->sent += (size_t)sent;
	}
	return 0;
}

/* A worker sends its request on a connection that has carried others. */
static int
reuse(struct client *client, struct worker *worker, struct conn *conn, struct err *err)
{
	conn->worker = worker;
	conn->started = false;
	conn->sent = 0;
	http_reader_next(conn->reader, false);
	return send_request(client, conn, err) < 0 ? lose(client, conn, err) : 0;
}

/* A reply is complete: note it, and give the connection back. `ended`: the peer has closed it.
 */
static int
finish(struct client *client, struct conn *conn, bool ended, struct err *err)
{
	struct workers_result *result = client->result;
	struct worker *worker = conn->worker;
	int64_t now = clock_now();
	size_t heir;

	if (http_reply_check(conn->reader, client->plan->path, err) < 0)
		return -1;
	if (!*result->congestion && tcp_congestion(conn->fd, result->congestion, err) < 0)
		return -1;
	result->request_ns[result->count] = now - worker->want_ns;
	result->wait_ns[result->count++] = worker->have_ns - worker->want_ns;
	be_ready(client, worker);
	conn->worker = NULL;
	conn->reused = true;
	if (ended || !http_reader_message(conn->reader)->keep) {
		hang_up(conn);
		return make_room(client, conn, err);
	}
	switch (conn_pool_give(&client->pool, (size_t)(conn - client->conns), &heir)) {
	case POOL_HAND:
		client->workers[heir].have_ns = now;
		return reuse(client, &client->workers[heir], conn, err);
	case POOL_CLOSE:
		result->closed_idle++;
		hang_up(conn);
		return 0;
	default:
		return 0;
	}
}

/* Take all that has come. Events are edge-triggered: a read that did not fill its buffer has
 * taken everything, unless the peer's end is there too (epoll(7)). 1: the reply is complete. */
static int
receive(struct client *client, struct conn *conn, bool ended, struct err *err)
{
	ssize_t got;

	if (http_reader_message(conn->reader)->complete)
		return ended;
	do {
		got = recv(conn->fd, client->bytes, READ_SIZE, 0);
		if (got < 0)
			return errno == EAGAIN ? 0 : err_sys(err, "receive");
		if (got == 0)
			return http_reply_cut(conn->reader, conn->started, err) < 0 ? -1 : 1;
		conn->started = true;
		if (http_reply_feed(conn->reader, client->bytes, (size_t)got, err) < 0)
			return -1;
		if (http_reader_message(conn->reader)->complete)
			return !client->plan->server_closes || ended;
	} while (got == READ_SIZE || ended);
	return 0;
}

/* -1: the request failed, 1: its reply is complete. */
static int
advance(struct client *client, struct conn *conn, uint32_t events, bool ended, struct err *err)
{
	if (!conn->established) {
		if (tcp_connect_end(conn->fd, err) < 0)
			return -1;
		if (!(events & EPOLLOUT))
			return 0;
		conn->established = true;
		conn->worker->have_ns = clock_now();
	}
	if (send_request(client, conn, err) < 0)
		return -1;
	return events & EPOLLIN || ended ? receive(client, conn, ended, err) : 0;
}

static int
handle(struct client *client, struct conn *conn, uint32_t events, struct err *err)
{
	bool ended = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	int status;

	if (conn->worker) {
		status = advance(client, conn, events, ended, err);
		if (status < 0)
			return lose(client, conn, err);
		return status ? finish(client, conn, ended, err) : 0;
	}
	/* Idle: closed, or bytes that nobody asked for, which no request may find. */
	if (ended || events & EPOLLIN) {
		client->result->lost_idle++;
		hang_up(conn);
		conn_pool_forget(&client->pool, (size_t)(conn - client->conns));
	}
	return 0;
}

/* A worker wants its next request answered. */
static int
start(struct client *client, size_t number, struct err *err)
{
	struct worker *worker = &client->workers[number];
	size_t conn;

	client->issued++;
	worker->want_ns = worker->have_ns = clock_now();
	switch (conn_pool_take(&client->pool, number, &conn)) {
	case POOL_REUSE:
		return reuse(client, worker, &client->conns[conn], err);
	case POOL_OPEN:
		return open_for(client, worker, conn, err);
	default:
		return 0;
	}
}

/* Let everyone who is ready go on, as the load has it and while there are requests to send. */
static int
start_ready(struct client *client, struct err *err)
{
	bool waves = client->plan->waves;
	size_t all = client->plan->workers;

	while (client->issued < client->plan->requests && client->ready.count > 0) {
		size_t count = client->ready.count;

		if (waves && count < all)
			return 0;
		for (; count > 0 && client->issued < client->plan->requests; count--)
			if (start(client, ring_pop_first(&client->ready), err) < 0)
				return -1;
	}
	return 0;
}

/* One look at the sockets, waiting for something to happen or not. */
static int
turn(struct client *client, struct err *err)
{
	int64_t deadline_ns = client->plan->deadline_ns;
	int count = epoll_wait(client->epoll_fd, client->events,
		(int)conn_pool_numbers(&client->pool),
		client->plan->spin ? 0 : clock_poll_ms(deadline_ns));

	if (count < 0 && errno != EINTR)
		return err_sys(err, "epoll_wait");
	for (int i = 0; i < count; i++)
		if (handle(client, client->events[i].data.ptr, client->events[i].events, err) <
			0)
			return -1;
	if (clock_now() >= deadline_ns)
		return err_set(err, "%zu of %lld requests answered before the deadline",
			client->result->count, (long long)client->plan->requests);
	return 0;
}

static int
run_all(struct client *client, struct err *err)
{
	int64_t start_ns = clock_now(), requests = client->plan->requests;

	for (size_t i = 0; i < client->plan->workers; i++)
		be_ready(client, &client->workers[i]);
	for (;;) {
		if (start_ready(client, err) < 0)
			return -1;
		if ((int64_t)client->result->count + client->result->lost == requests)
			break;
		if (turn(client, err) < 0)
			return -1;
	}
	client->result->total_ns = clock_now() - start_ns;
	if (!client->result->count)
		return err_prefix(
			err, "all %lld requests failed, the last", (long long)requests);
	return 0;
}

static void
close_all(struct client *client)
{
	for (size_t i = 0; i < conn_pool_numbers(&client->pool); i++)
		hang_up(&client->conns[i]);
}

static void
init_client(struct client *client)
{
	const struct workers_plan *plan = client->plan;
	size_t conns;

	conn_pool_init(
		&client->pool, plan->policy, plan->workers, plan->idle_max, plan->open_max);
	conns = conn_pool_numbers(&client->pool);
	client->conns = alloc_zero(conns, sizeof(*client->conns));
	for (size_t i = 0; i < conns; i++) {
		client->conns[i].fd = -1;
		client->conns[i].reader = http_reader_new(HTTP_REPLIES);
	}
	client->events = alloc_zero(conns, sizeof(*client->events));
	client->workers = alloc_zero(plan->workers, sizeof(*client->workers));
	ring_init(&client->ready, plan->workers);
	client->bytes = alloc_zero(1, READ_SIZE);
	http_write_request(
		&client->request, FRAMING_LENGTH, !plan->server_closes, plan->path, plan->host);
}

static void
free_client(struct client *client)
{
	for (size_t i = 0; i < conn_pool_numbers(&client->pool); i++)
		http_reader_free(client->conns[i].reader);
	conn_pool_free(&client->pool);
	ring_free(&client->ready);
	buf_free(&client->request);
	free(client->conns);
	free(client->events);
	free(client->workers);
	free(client->bytes);
}

int
workers_run(const struct workers_plan *plan, struct workers_result *result, struct err *err)
{
	struct client client = {.plan = plan, .result = result};
	int status;

	*result = (struct workers_result){
		.request_ns = alloc_zero((size_t)plan->requests, sizeof(int64_t)),
		.wait_ns = alloc_zero((size_t)plan->requests, sizeof(int64_t)),
	};
	init_client(&client);
	client.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	status = client.epoll_fd < 0 ? err_sys(err, "epoll") : run_all(&client, err);
	close_all(&client);
	close(client.epoll_fd);
	free_client(&client);
	return status;
}

void
workers_free(struct workers_result *result)
{
	free(result->request_ns);
	free(result->wait_ns);
}
