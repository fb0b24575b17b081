/* What a new TCP connection costs: connect, a request on a new and on a kept one, and the
 * sockets it leaves behind.
 *
 * Client and server exchange messages of `size` bytes; the server echoes each. The client
 *   1. opens the kept connection and discards its connect and first exchange (warm-up),
 *   2. N times: connects (connect), exchanges one message (request_new, from before the connect
 *      to the last byte of the reply), closes; it is the client that closes first,
 *   3. N times: exchanges one message on the kept connection (request_kept), then closes it,
 *   4. opens `hold` connections at once, and takes the census of sockets while they are open:
 * its own, and, by a message that starts with ASK_CENSUS, the server's,
 *   5. closes them and counts what is left in TIME_WAIT once nothing is closing any more. */
#include "probe/probe.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/census.h"
#include "net/tcp.h"
#include "probe/server.h"

#define ASK_ECHO 'e'
#define ASK_CENSUS 'c'

struct options {
	struct placement placement;
	int64_t size;
	int64_t hold;
};

static const struct opt option_table[] = {
	PLACEMENT_OPTIONS(struct options, placement),
	{.name = "size",
		.type = OPT_SIZE,
		.offset = offsetof(struct options, size),
		.default_text = "64b",
		.min = 1,
		.max = 1 << 20,
		.help = "bytes of a request, and of its reply"},
	{.name = "hold",
		.type = OPT_COUNT,
		.offset = offsetof(struct options, hold),
		.default_text = "40",
		.min = 1,
		.max = 10000,
		.help = "connections held open while sockets are counted"},
	{0},
};

static const struct metric metric_table[] = {
	{"connect", RECORD_NS, "connect() until established: 1 RTT"},
	{"request_new", RECORD_NS,
		"request and reply on a new connection, connect included: 2 RTT"},
	{"request_kept", RECORD_NS, "request and reply on an open connection: 1 RTT"},
	{"syn_retransmits", RECORD_COUNT_UNIT,
		"SYNs sent again by the connects that were measured"},
	{"retransmits", RECORD_COUNT_UNIT,
		"segments, SYNs included, that the client sent again for requests"},
	{"established", RECORD_COUNT_UNIT,
		"client's view: sockets ESTABLISHED while `hold` are open; both ends on "
		"loopback"},
	{"time_wait", RECORD_COUNT_UNIT,
		"client's view: sockets in TIME_WAIT after closing all"},
	{"time_wait_entered", RECORD_COUNT_UNIT,
		"client's view: sockets that went into TIME_WAIT, those included whose port "
		"was taken again"},
	{"connections", RECORD_COUNT_UNIT,
		"connections the server accepted: 2 x samples + hold + 1"},
	{"listening", RECORD_COUNT_UNIT,
		"server's view: sockets in LISTEN while `hold` are open"},
	{"server_established", RECORD_COUNT_UNIT,
		"server's view: sockets ESTABLISHED while `hold` are open; both ends on "
		"loopback"},
	{0},
};

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;

	return placement_check(&options->placement, err);
}

/* ---- server ---- */

struct echo {
	struct server server;
	size_t size;
	struct census census;
	struct err census_err;
	bool asked;
};

static void *
echo_open(void *context)
{
	const struct echo *echo = context;

	return alloc_zero(echo->size, 1);
}

static int
echo_request(struct session *session, void *context)
{
	struct echo *echo = context;

	if (session->in.len < echo->size)
		return 0;
	memcpy(session->state, session->in.data, echo->size);
	session_take(session, echo->size);
	if (*(const char *)session->state == ASK_CENSUS && !echo->asked) {
		echo->asked = true;
		if (census_take(&echo->server.bound, &echo->census, &echo->census_err) < 0)
			return -1;
	}
	session->out = session->state;
	session->out_left = echo->size;
	return 0;
}

static const struct service echo_service = {
	.open = echo_open,
	.close = free,
	.request = echo_request,
};

static int
serve(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct echo echo = {
		.size = (size_t)options->size,
		.server.service = &echo_service,
		.server.context = &echo,
		.server.spin = options->placement.wait == WAIT_SPIN,
	};
	int status = placement_apply(&options->placement, CPU_SERVER, err);

	if (status)
		return status;
	probe_raise_files();
	status = server_run(&echo.server, call, err);
	if (status)
		return status;
	record_count(stdout, "connections", echo.server.accepted);
	if (!echo.asked)
		return 0;
	if (*echo.census_err.text)
		return err_set(err, "census: %s", echo.census_err.text);
	record_count(stdout, "listening", echo.census.sockets[TCP_LISTEN]);
	record_count(stdout, "server_established", echo.census.sockets[TCP_ESTABLISHED]);
	return 0;
}

/* ---- client ---- */

struct client {
	const struct probe_call *call;
	struct wait wait;
	size_t size;
	char *message, *reply;
	int kept;
	int64_t *connect_ns, *new_ns, *kept_ns;
	size_t connect_count, new_count, kept_count;
	int64_t connects_lost, requests_lost;
	int64_t syn_retransmits, retransmits;
	char congestion[TCP_CONGESTION_SIZE];
	struct census held, closed;
	int64_t entered; /* TIME_WAIT: before the first connection, then since */
};

/* A message no other is like, so that an echo of something else is noticed. */
static void
fill_message(struct client *client, char kind, uint64_t serial)
{
	size_t room = client->size - 1;

	client->message[0] = kind;
	memcpy(client->message + 1, &serial, room < sizeof(serial) ? room : sizeof(serial));
}

static int
check_reply(const struct client *client, struct err *err)
{
	if (memcmp(client->message, client->reply, client->size) == 0)
		return 0;
	errno = EBADMSG;
	return err_set(err, "the reply is not an echo of the request");
}

static int
exchange(struct client *client, int fd, const struct wait *wait, struct err *err)
{
	if (tcp_send(fd, client->message, client->size, wait, err) < 0)
		return -1;
	return tcp_receive_all(fd, client->reply, client->size, wait, err);
}

static int
measure_connect(struct client *client, int fd, struct err *err)
{
	int64_t start = clock_now(), end, retransmits;

	if (tcp_connect(fd, &client->call->addr, &client->wait, err) < 0)
		return -1;
	end = clock_now();
	if (tcp_retransmits(fd, &retransmits, err) < 0)
		return -1;
	client->syn_retransmits += retransmits;
	client->connect_ns[client->connect_count++] = end - start;
	return 0;
}

static int
measure_new(struct client *client, int fd, struct err *err)
{
	int64_t start, end, retransmits;

	fill_message(client, ASK_ECHO, client->new_count);
	start = clock_now();
	if (tcp_connect(fd, &client->call->addr, &client->wait, err) < 0 ||
		exchange(client, fd, &client->wait, err) < 0)
		return -1;
	end = clock_now();
	if (check_reply(client, err) < 0 || tcp_retransmits(fd, &retransmits, err) < 0)
		return -1;
	client->retransmits += retransmits;
	client->new_ns[client->new_count++] = end - start;
	return 0;
}

/* N new connections, each handed to `measure`. One that the path lost is counted in *lost and
 * the run goes on, unless all are. */
static int
run_new(struct client *client, int (*measure)(struct client *, int, struct err *),
	int64_t *lost, struct err *err)
{
	int64_t samples = client->call->samples;

	for (int64_t i = 0; i < samples; i++) {
		int fd = tcp_socket(addr_family(&client->call->addr), client->wait.how, err);
		int status, error;

		if (fd < 0)
			return -1;
		status = measure(client, fd, err);
		error = errno;
		close(fd);
		if (status < 0 && !tcp_lost(error))
			return -1;
		*lost += status < 0;
	}
	if (*lost < samples)
		return 0;
	return err_prefix(err, "all %lld connections failed, the last", (long long)samples);
}

static int
open_kept(struct client *client, struct err *err)
{
	int family = addr_family(&client->call->addr);

	fill_message(client, ASK_ECHO, 0);
	client->kept = tcp_socket(family, client->wait.how, err);
	if (client->kept < 0 ||
		tcp_connect(client->kept, &client->call->addr, &client->wait, err) < 0 ||
		exchange(client, client->kept, &client->wait, err) < 0 ||
		check_reply(client, err) < 0)
		return -1;
	return tcp_congestion(client->kept, client->congestion, err);
}

static int
run_kept(struct client *client, struct err *err)
{
	int64_t retransmits;

	while (client->kept_count < (size_t)client->call->samples) {
		int64_t start;

		fill_message(client, ASK_ECHO, client->kept_count);
		start = clock_now();
		if (exchange(client, client->kept, &client->wait, err) < 0)
			return -1;
		client->kept_ns[client->kept_count++] = clock_now() - start;
		if (check_reply(client, err) < 0)
			return -1;
	}
	if (tcp_retransmits(client->kept, &retransmits, err) < 0)
		return -1;
	client->retransmits += retransmits;
	close(client->kept);
	client->kept = -1;
	return 0;
}

/* One message each way on fds[first .. last - 1], all at once: one round trip for all. A reply
 * proves that the server's end is established too. */
static int
exchange_all(struct client *client, const int *fds, size_t first, size_t last, char kind,
	struct err *err)
{
	struct wait poll = {.how = WAIT_POLL, .deadline_ns = client->call->deadline_ns};

	fill_message(client, kind, 0);
	for (size_t i = first; i < last; i++)
		if (tcp_send(fds[i], client->message, client->size, &poll, err) < 0)
			return -1;
	for (size_t i = first; i < last; i++)
		if (tcp_receive_all(fds[i], client->reply, client->size, &poll, err) < 0 ||
			check_reply(client, err) < 0)
			return -1;
	return 0;
}

static int
open_held(struct client *client, int *fds, size_t count, struct err *err)
{
	const struct addr *peer = &client->call->addr;
	struct wait poll = {.how = WAIT_POLL, .deadline_ns = client->call->deadline_ns};

	for (size_t i = 0; i < count; i++) {
		fds[i] = tcp_socket(addr_family(peer), WAIT_POLL, err);
		if (fds[i] < 0 || tcp_connect_start(fds[i], peer, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < count; i++)
		if (tcp_connect(fds[i], peer, &poll, err) < 0)
			return -1;
	return 0;
}

/* What all those connections left behind. */
static int
count_closed(struct client *client, struct err *err)
{
	int64_t before = client->entered;

	if (census_settle(
		    &client->call->addr, client->call->deadline_ns, &client->closed, err) < 0 ||
		census_time_wait_entered(&client->entered, err) < 0)
		return -1;
	client->entered -= before;
	return 0;
}

static int
run_census(struct client *client, struct err *err)
{
	const struct options *options = client->call->options;
	size_t count = (size_t)options->hold;
	int *fds = alloc_zero(count, sizeof(*fds));
	int status = -1;

	for (size_t i = 0; i < count; i++)
		fds[i] = -1;
	if (open_held(client, fds, count, err) == 0 &&
		exchange_all(client, fds, 0, count, ASK_ECHO, err) == 0 &&
		census_take(&client->call->addr, &client->held, err) == 0)
		status = exchange_all(client, fds, count - 1, count, ASK_CENSUS, err);
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(fds);
	if (status < 0)
		return err_prefix(err, "hold=%zu", count);
	return count_closed(client, err);
}

static void
print_results(const struct client *client)
{
	record_info(stdout, "congestion", "%s", client->congestion);
	record_info(stdout, "socket_list", "%s", client->held.source);
	probe_samples("connect", client->connect_ns, client->connect_count);
	probe_samples("request_new", client->new_ns, client->new_count);
	probe_samples("request_kept", client->kept_ns, client->kept_count);
	record_count(stdout, "connect_errors", client->connects_lost);
	record_count(stdout, "request_new_errors", client->requests_lost);
	record_count(stdout, "syn_retransmits", client->syn_retransmits);
	record_count(stdout, "retransmits", client->retransmits);
	record_count(stdout, "established", client->held.sockets[TCP_ESTABLISHED]);
	record_count(stdout, "time_wait", client->closed.sockets[TCP_TIME_WAIT]);
	record_count(stdout, "time_wait_entered", client->entered);
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	size_t samples = (size_t)call->samples;
	struct client client = {
		.call = call,
		.wait = {(enum wait_how)options->placement.wait, call->deadline_ns},
		.size = (size_t)options->size,
		.kept = -1,
		.message = alloc_zero(1, (size_t)options->size),
		.reply = alloc_zero(1, (size_t)options->size),
		.connect_ns = alloc_zero(samples, sizeof(int64_t)),
		.new_ns = alloc_zero(samples, sizeof(int64_t)),
		.kept_ns = alloc_zero(samples, sizeof(int64_t)),
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	if (status)
		goto out;
	probe_raise_files();
	status = -1;
	if (census_time_wait_entered(&client.entered, err) == 0 &&
		open_kept(&client, err) == 0 &&
		run_new(&client, measure_connect, &client.connects_lost, err) == 0 &&
		run_new(&client, measure_new, &client.requests_lost, err) == 0 &&
		run_kept(&client, err) == 0 && run_census(&client, err) == 0) {
		print_results(&client);
		status = 0;
	}
out:
	if (client.kept >= 0)
		close(client.kept);
	free(client.message);
	free(client.reply);
	free(client.connect_ns);
	free(client.new_ns);
	free(client.kept_ns);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe handshake = {
		.name = "handshake",
		.summary = "what a new TCP connection costs, and what it leaves behind",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.serve = serve,
		.run = run,
	};

	return probe_main(&handshake, argc, argv);
}
