/* The echo server whose ACK is waited for. */
#include "probe/part_echo.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/netstat.h"
#include "net/tcp_option.h"
#include "probe/server.h"

/* No delayed ACK is sooner: a rest that comes within it was not waiting for one, and reading
 * the kernel's counters would cost such a round more than it takes. */
#define SOON_NS NS_PER_MS

struct echo {
	struct server server;
	enum quickack quickack;
	size_t size;
	int64_t messages, stalls;
	int64_t delayed; /* the kernel's counter when it was last read */
	struct err err;  /* of a request that could not be judged */
};

/* A connection. */
struct peer {
	char *reply;
	bool started;
	size_t part;      /* bytes of a message that were read without the rest */
	int64_t since_ns; /* when, */
	uint32_t acks;    /* and how many ACKs without data the socket had sent by then */
};

/* Delayed-ACK timers that fired in this network namespace. */
static int
read_delayed(int64_t *count, struct err *err)
{
	return netstat_read("TcpExt", "DelayedACKs", count, err);
}

static void *
peer_open(void *context)
{
	struct echo *echo = context;
	struct peer *peer = alloc_zero(1, sizeof(*peer));

	peer->reply = alloc_zero(echo->size, 1);
	read_delayed(&echo->delayed, &echo->err);
	return peer;
}

static void
peer_close(void *state)
{
	struct peer *peer = state;

	free(peer->reply);
	free(peer);
}

static int
read_acks(const struct session *session, uint32_t *acks, struct err *err)
{
	struct tcp_info info;

	if (tcp_read_info(session->fd, &info, err) < 0)
		return -1;
	*acks = info.tcpi_segs_out - info.tcpi_data_segs_out;
	return 0;
}

/* More of a message came of which a part was there: had it to wait for a delayed ACK? */
static int
judge_wait(struct echo *echo, const struct session *session)
{
	const struct peer *peer = session->state;
	int64_t before = echo->delayed;
	uint32_t acks;

	if (clock_now() - peer->since_ns < SOON_NS)
		return 0;
	if (read_acks(session, &acks, &echo->err) < 0 ||
		read_delayed(&echo->delayed, &echo->err) < 0)
		return -1;
	echo->stalls += acks != peer->acks && echo->delayed != before;
	return 0;
}

/* Only a part of a message was there: the rest is waited for. */
static int
begin_wait(struct echo *echo, struct session *session)
{
	struct peer *peer = session->state;

	if (echo->quickack == QUICKACK_EACH &&
		tcp_set_option(session->fd, TCP_QUICKACK, 1, "TCP_QUICKACK", &echo->err) < 0)
		return -1;
	peer->since_ns = clock_now();
	return read_acks(session, &peer->acks, &echo->err);
}

/* Take the whole messages that are there, up to one that wants its echo. */
static void
take_messages(struct echo *echo, struct session *session)
{
	struct peer *peer = session->state;
	size_t taken = 0;

	while (session->out_left == 0 && session->in.len - taken >= echo->size) {
		const char *message = session->in.data + taken;

		if (*message == PART_ECHO_YES) {
			memcpy(peer->reply, message, echo->size);
			session->out = peer->reply;
			session->out_left = echo->size;
		}
		echo->messages++;
		taken += echo->size;
	}
	session_take(session, taken);
}

static int
echo_request(struct session *session, void *context)
{
	struct echo *echo = context;
	struct peer *peer = session->state;

	if (session->in.len == peer->part)
		return 0;
	if (!peer->started && echo->quickack == QUICKACK_ONCE &&
		tcp_set_option(session->fd, TCP_QUICKACK, 1, "TCP_QUICKACK", &echo->err) < 0)
		return -1;
	peer->started = true;
	if (peer->part > 0 && judge_wait(echo, session) < 0)
		return -1;
	take_messages(echo, session);
	peer->part = session->in.len;
	return peer->part > 0 ? begin_wait(echo, session) : 0;
}

static const struct service echo_service = {
	.open = peer_open,
	.close = peer_close,
	.request = echo_request,
};

int
part_echo_serve(const struct probe_call *call, size_t size, enum quickack quickack,
	enum wait_how wait, struct err *err)
{
	struct echo echo = {
		.quickack = quickack,
		.size = size,
		.server.service = &echo_service,
		.server.context = &echo,
		.server.spin = wait == WAIT_SPIN,
	};
	int64_t before;
	int status;

	if (read_delayed(&before, err) < 0)
		return PROBE_UNSUPPORTED;
	status = server_run(&echo.server, call, err);
	if (status)
		return status;
	if (*echo.err.text)
		return err_set(err, "%s", echo.err.text);
	if (read_delayed(&echo.delayed, err) < 0)
		return -1;
	record_count(stdout, "connections", echo.server.accepted);
	record_count(stdout, "messages", echo.messages);
	record_count(stdout, "stalls", echo.stalls);
	record_count(stdout, "delayed_acks", echo.delayed - before);
	return 0;
}
