/* Opening, asking and closing, each step on all connections before the next one begins. */
#include "probe/batch.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "net/tcp.h"
#include "probe/http.h"

#define READ_SIZE 16384
#define PATH "/"

#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51 /* Linux 6.3 */
#endif

struct batch_conn {
	int fd; /* -1: not open */
	struct http_reader *reader;
};

void
batch_init(struct batch *batch, size_t max)
{
	char peer[ADDR_TEXT_SIZE];

	batch->max = max;
	batch->bytes = alloc_zero(1, READ_SIZE);
	batch->conns = alloc_zero(max, sizeof(*batch->conns));
	for (size_t i = 0; i < max; i++) {
		batch->conns[i].fd = -1;
		batch->conns[i].reader = http_reader_new(HTTP_REPLIES);
	}
	addr_format(batch->peer, peer);
	http_write_request(&batch->request, FRAMING_LENGTH, true, PATH, peer);
	http_write_request(&batch->goodbye, FRAMING_LENGTH, false, PATH, peer);
}

static void
hang_up(struct batch_conn *conn)
{
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
}

void
batch_free(struct batch *batch)
{
	for (size_t i = 0; i < batch->max; i++) {
		hang_up(&batch->conns[i]);
		http_reader_free(batch->conns[i].reader);
	}
	buf_free(&batch->request);
	buf_free(&batch->goodbye);
	free(batch->conns);
	free(batch->bytes);
}

static int
set_ports(const struct batch *batch, int fd, struct err *err)
{
	uint32_t range = (uint32_t)batch->high << 16 | batch->low;

	if (setsockopt(fd, IPPROTO_IP, IP_LOCAL_PORT_RANGE, &range, sizeof(range)) < 0)
		return err_sys(err, "set IP_LOCAL_PORT_RANGE");
	return 0;
}

int
batch_limit_ports(struct batch *batch, uint16_t low, uint16_t high, struct err *err)
{
	int fd = tcp_socket(addr_family(batch->peer), WAIT_POLL, err);
	int status;

	if (fd < 0)
		return -1;
	batch->low = low;
	batch->high = high;
	status = set_ports(batch, fd, err);
	close(fd);
	return status;
}

static int
dial(struct batch *batch, struct batch_conn *conn, struct err *err)
{
	conn->fd = tcp_socket(addr_family(batch->peer), batch->wait.how, err);
	if (conn->fd < 0)
		return -1;
	if (batch->reset && !batch->server_closes && tcp_linger_zero(conn->fd, err) < 0)
		return -1;
	if (batch->low && set_ports(batch, conn->fd, err) < 0)
		return -1;
	http_reader_reset(conn->reader);
	if (tcp_connect_start(conn->fd, batch->peer, err) < 0)
		return -1;
	batch->connects++;
	return 0;
}

int
batch_open(struct batch *batch, size_t count, size_t *opened, struct err *err)
{
	*opened = 0;
	for (size_t i = 0; i < count; i++) {
		struct batch_conn *conn = &batch->conns[*opened];

		if (dial(batch, conn, err) == 0) {
			++*opened;
			continue;
		}
		if (errno != EADDRNOTAVAIL || !batch->low)
			return -1;
		hang_up(conn);
		batch->no_port++;
	}
	for (size_t i = 0; i < *opened; i++)
		if (tcp_connect(batch->conns[i].fd, batch->peer, &batch->wait, err) < 0)
			return -1;
	return 0;
}

static int
send_all(struct batch *batch, size_t count, const struct buf *request, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		struct batch_conn *conn = &batch->conns[i];

		http_reader_next(conn->reader, false);
		if (tcp_send(conn->fd, request->data, request->len, &batch->wait, err) < 0)
			return -1;
	}
	return 0;
}

static int
read_reply(struct batch *batch, struct batch_conn *conn, struct err *err)
{
	bool started = false;

	while (!http_reader_message(conn->reader)->complete) {
		ssize_t got = tcp_receive(conn->fd, batch->bytes, READ_SIZE, &batch->wait, err);

		if (got < 0)
			return -1;
		if (got == 0)
			return http_reply_cut(conn->reader, started, err);
		started = true;
		if (http_reply_feed(conn->reader, batch->bytes, (size_t)got, err) < 0)
			return -1;
	}
	return http_reply_check(conn->reader, PATH, err);
}

int
batch_request(struct batch *batch, size_t count, struct err *err)
{
	if (send_all(batch, count, &batch->request, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (read_reply(batch, &batch->conns[i], err) < 0)
			return -1;
	return 0;
}

/* The end that the server puts to the connection: its FIN behind a reply, or its reset. */
static int
await_end(struct batch *batch, struct batch_conn *conn, struct err *err)
{
	ssize_t got;

	if (!batch->reset && read_reply(batch, conn, err) < 0)
		return -1;
	got = tcp_receive(conn->fd, batch->bytes, READ_SIZE, &batch->wait, err);
	if (batch->reset ? got < 0 && errno == ECONNRESET : got == 0)
		return 0;
	if (got < 0)
		return -1;
	errno = EBADMSG;
	return err_set(err, "the server did not %s the connection as it was asked to",
		batch->reset ? "reset" : "close");
}

int
batch_close(struct batch *batch, size_t count, struct err *err)
{
	if (batch->server_closes) {
		if (send_all(batch, count, &batch->goodbye, err) < 0)
			return -1;
		for (size_t i = 0; i < count; i++)
			if (await_end(batch, &batch->conns[i], err) < 0)
				return -1;
	}
	for (size_t i = 0; i < count; i++)
		hang_up(&batch->conns[i]);
	return 0;
}
