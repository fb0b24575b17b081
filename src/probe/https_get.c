/* The steps of an HTTPS request, each with its moment. */
#include "probe/https_get.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/tcp.h"
#include "probe/responder.h"

void
https_client_init(struct https_client *client)
{
	client->reader = http_reader_new(HTTP_REPLIES);
}

void
https_client_free(struct https_client *client)
{
	lookup_free(client->lookup);
	http_reader_free(client->reader);
	buf_free(&client->message);
	tls_tickets_free(&client->tickets);
}

int
https_prepare(
	struct https_client *client, uint32_t number, struct https_conn *conn, struct err *err)
{
	*conn = (struct https_conn){.fd = -1};
	snprintf(client->name, sizeof(client->name), "n%u." ZONE_NAME, (unsigned)number);
	buf_clear(&client->message);
	http_write_request(&client->message, FRAMING_LENGTH, true, "/", client->name);
	lookup_free(client->lookup);
	client->lookup = lookup_new(&client->names, err);
	if (!client->lookup)
		return -1;
	conn->fd = tcp_socket(addr_family(&client->peer), client->wait.how, err);
	return conn->fd < 0 ? -1 : 0;
}

static int
find_server(struct https_client *client, struct addr *server, struct err *err)
{
	const struct addr *peer = &client->peer;
	struct lookup_result result;
	char text[ADDR_TEXT_SIZE];

	if (lookup_name(client->lookup, client->name, addr_family(peer), addr_port(peer),
		    &client->wait, &result, err) < 0)
		return -1;
	if (result.outcome != LOOKUP_ANSWERED || result.addr_count < 1) {
		err_set(err, "look up %s: %s", client->name, result.reason);
		errno = result.outcome != LOOKUP_TIMEOUT          ? EBADMSG
			: clock_now() >= client->wait.deadline_ns ? ETIME
								  : ETIMEDOUT;
		return -1;
	}
	*server = result.addrs[0];
	if (addr_equal(server, peer))
		return 0;
	errno = EBADMSG;
	addr_format(server, text);
	return err_set(err, "%s: %s is not the server's address", client->name, text);
}

static int
read_reply(struct https_client *client, struct https_conn *conn, struct https_times *times,
	struct err *err)
{
	const struct http_message *reply = http_reader_message(client->reader);
	char bytes[16384];

	while (!reply->complete) {
		ssize_t got = tls_receive(
			&conn->tls, conn->fd, bytes, sizeof(bytes), &client->wait, err);

		if (got < 0)
			return -1;
		if (!times->starttransfer_ns)
			times->starttransfer_ns = clock_now();
		if (http_reply_feed(client->reader, bytes, (size_t)got, err) < 0)
			return -1;
	}
	times->total_ns = clock_now();
	if (http_reply_check(client->reader, "/", err) < 0)
		return -1;
	if (reply->body_bytes == client->size && reply->keep)
		return 0;
	errno = EBADMSG;
	return err_set(err, "the reply is not the one that was asked for");
}

static int
send_request(struct https_client *client, struct https_conn *conn, struct err *err)
{
	if (tls_write(&conn->tls, client->message.data, client->message.len, err) < 0)
		return -1;
	return tls_flush(&conn->tls, conn->fd, &client->wait, err);
}

/* Is the session what it is to be? */
static int
check_session(const struct tls *tls, enum https_session session, struct err *err)
{
	errno = EBADMSG;
	if (tls_resumed(tls) != (session != HTTPS_FULL))
		return err_set(err, session != HTTPS_FULL
					    ? "the server did not resume the session"
					    : "the server resumed a session nobody asked for");
	if (session == HTTPS_EARLY && !tls_early_accepted(tls))
		return err_set(err, "the server did not accept early data");
	return 0;
}

/* TLS on the open connection, and the request behind its handshake or along with it. */
static int
secure(struct https_client *client, struct https_conn *conn, enum https_session session,
	struct https_times *times, struct err *err)
{
	bool early = session == HTTPS_EARLY;
	const struct buf *message = &client->message;
	struct tls *tls = &conn->tls;

	if (tls_open_client(tls, client->context, client->name, err) < 0 ||
		(session != HTTPS_FULL && tls_resume(tls, &client->tickets, err) < 0) ||
		(early && tls_write_early(tls, message->data, message->len, err) < 0) ||
		tls_connect(tls, conn->fd, &client->wait, err) < 0)
		return -1;
	times->appconnect_ns = clock_now();
	if (check_session(tls, session, err) < 0)
		return -1;
	return early ? 0 : send_request(client, conn, err);
}

static void
since(struct https_times *times, int64_t start)
{
	times->namelookup_ns -= start;
	times->connect_ns -= start;
	times->appconnect_ns -= start;
	times->starttransfer_ns -= start;
	times->total_ns -= start;
}

int
https_get(struct https_client *client, struct https_conn *conn, enum https_session session,
	struct https_times *times, struct err *err)
{
	struct addr server;
	int64_t start;

	*times = (struct https_times){0};
	http_reader_reset(client->reader);
	start = clock_now();
	if (find_server(client, &server, err) < 0)
		return -1;
	times->namelookup_ns = clock_now();
	if (tcp_connect(conn->fd, &server, &client->wait, err) < 0)
		return -1;
	times->connect_ns = clock_now();
	if (secure(client, conn, session, times, err) < 0 ||
		read_reply(client, conn, times, err) < 0)
		return -1;
	since(times, start);
	return 0;
}

int
https_get_again(struct https_client *client, struct https_conn *conn, struct https_times *times,
	struct err *err)
{
	int64_t start;

	*times = (struct https_times){0};
	http_reader_next(client->reader, false);
	start = clock_now();
	/* As curl has it: what was not done took no time. */
	times->namelookup_ns = times->connect_ns = times->appconnect_ns = start;
	if (send_request(client, conn, err) < 0 || read_reply(client, conn, times, err) < 0)
		return -1;
	since(times, start);
	return 0;
}

int
https_end(struct https_client *client, struct https_conn *conn, bool ticket, struct err *err)
{
	struct tls *tls = &conn->tls;

	if (ticket && tls_await_ticket(tls, conn->fd, &client->tickets, &client->wait, err) < 0)
		return -1;
	tls_end(tls);
	return tls_flush(tls, conn->fd, &client->wait, err);
}

void
https_close(struct https_conn *conn)
{
	int reason = errno;

	tls_close(&conn->tls);
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
	errno = reason;
}
