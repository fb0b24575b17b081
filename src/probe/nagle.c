/* What a message in two writes costs when Nagle's algorithm meets a delayed ACK.
 *
 *   client                                   server
 *     first part  ------------------------->  reads half a message, has nothing to say, and
 *     second part: held by Nagle, since the   delays the ACK, hoping for a reply to put it on
 *     first is not acknowledged                 ...
 *                 <-------------------------  ACK, when its timer fires (40 ms)
 *     second part ------------------------->  now it has all
 *                 <-------------------------  reply
 *
 * The client sends messages of `size` bytes in two parts on one connection, `write` says how;
 * the server echoes each. The first round is kept apart: no reply was sent before it, and so
 * its ACK is not delayed. With pattern=stream nothing is echoed but the last message, and
 * nobody waits. How the server tells that a message waited for a delayed ACK: part_echo.h. */
#include "probe/probe.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/tcp.h"
#include "net/tcp_option.h"
#include "probe/part_echo.h"

enum write_how { WRITE_SPLIT, WRITE_SINGLE, WRITE_WRITEV, WRITE_CORK };
enum nodelay { NODELAY_OFF, NODELAY_ON };
enum pattern { PATTERN_PINGPONG, PATTERN_STREAM };

struct options {
	struct placement placement;
	int write;    /* enum write_how */
	int nodelay;  /* enum nodelay */
	int quickack; /* enum quickack */
	int pattern;  /* enum pattern */
	int64_t size;
};

static const struct opt option_table[] = {
	PLACEMENT_OPTIONS(struct options, placement),
	{.name = "write",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, write),
		.default_text = "split",
		.choices = "split|single|writev|cork",
		.help = "the two parts of a message: two writes, one of both, one writev(), two "
			"under TCP_CORK"},
	{.name = "nodelay",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, nodelay),
		.default_text = "off",
		.choices = "off|on",
		.help = "TCP_NODELAY at the client, which sends the parts; off is Nagle's "
			"algorithm"},
	{.name = "quickack",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, quickack),
		.default_text = "default",
		.choices = "default|once|each",
		.help = "TCP_QUICKACK at the server, whose ACK is waited for: never set, once a "
			"connection, after each read that found only a part"},
	{.name = "pattern",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, pattern),
		.default_text = "pingpong",
		.choices = "pingpong|stream",
		.help = "an echo of each message is waited for, or only of the last"},
	{.name = "size",
		.type = OPT_SIZE,
		.offset = offsetof(struct options, size),
		.default_text = "64b",
		.min = 2,
		.max = 64 << 10,
		.help = "bytes of a message, half of them in each part, and of its echo"},
	{0},
};

static const struct metric metric_table[] = {
	{"round_trip", RECORD_NS,
		"before the first part is written until all of the echo is there, the first "
		"round left out: 1 RTT, 2 RTT where Nagle holds the second part, and the "
		"delayed ACK where the round stalls"},
	{"first_round_trip", RECORD_NS,
		"the same of the first round on the connection, whose ACK is not delayed: 1 RTT, "
		"2 RTT where Nagle holds the second part"},
	{"send", RECORD_NS,
		"pattern=stream: before the first part is written until the second is the "
		"kernel's: no RTT"},
	{"total", RECORD_NS,
		"pattern=stream: before the first message is written until the echo of the last "
		"is there, one sample a run"},
	{"held", RECORD_COUNT_UNIT,
		"write=split: messages whose second part the client's kernel had not sent when "
		"its write returned: Nagle holds it, or the pacing of bbr; the first round left out"},
	{"segments", RECORD_COUNT_UNIT,
		"segments with data that the client sent (TCP_INFO), the first round and those "
		"sent again left out"},
	{"retransmits", RECORD_COUNT_UNIT, "segments that the client sent again meanwhile"},
	{"connections", RECORD_COUNT_UNIT, "connections the server accepted: 1"},
	{"messages", RECORD_COUNT_UNIT,
		"messages the server received whole: samples, and with pattern=pingpong one more"},
	{"stalls", RECORD_COUNT_UNIT,
		"messages whose rest reached the server only after a delayed ACK: it had read "
		"the first part, its socket then sent an ACK without data, and the kernel "
		"counted a delayed-ACK timer that fired"},
	{"delayed_acks", RECORD_COUNT_UNIT,
		"delayed-ACK timers that fired in the server's network namespace meanwhile, of "
		"whatever socket (TcpExt DelayedACKs)"},
	{0},
};

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;

	return placement_check(&options->placement, err);
}

static int
serve(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	int status = placement_apply(&options->placement, CPU_SERVER, err);

	if (status)
		return status;
	return part_echo_serve(call, (size_t)options->size, (enum quickack)options->quickack,
		(enum wait_how)options->placement.wait, err);
}

/* ---- client ---- */

struct client {
	const struct probe_call *call;
	const struct options *options;
	struct wait wait;
	size_t size, first; /* of a message, and of its first part */
	char *message, *reply;
	int fd;
	uint64_t serial;
	int64_t *sample_ns; /* round_trip or send */
	int64_t first_ns, total_ns;
	int64_t held, segments, retransmits;
	char congestion[TCP_CONGESTION_SIZE];
};

/* A message no other is like, so that an echo of something else is noticed. */
static void
fill_message(struct client *client, char kind)
{
	size_t room = client->size - 1;

	client->serial++;
	client->message[0] = kind;
	memcpy(client->message + 1, &client->serial,
		room < sizeof(client->serial) ? room : sizeof(client->serial));
}

static int
send_two(struct client *client, struct err *err)
{
	if (tcp_send(client->fd, client->message, client->first, &client->wait, err) < 0)
		return -1;
	return tcp_send(client->fd, client->message + client->first,
		client->size - client->first, &client->wait, err);
}

static int
send_split(struct client *client, struct err *err)
{
	int unsent;

	if (send_two(client, err) < 0)
		return -1;
	if (ioctl(client->fd, SIOCOUTQNSD, &unsent) < 0)
		return err_sys(err, "read SIOCOUTQNSD");
	client->held += unsent > 0;
	return 0;
}

static int
send_gathered(struct client *client, struct err *err)
{
	struct iovec parts[] = {
		{client->message, client->first},
		{client->message + client->first, client->size - client->first},
	};
	ssize_t sent = writev(client->fd, parts, 2);

	if (sent < 0 && errno != EAGAIN && errno != EINTR)
		return err_sys(err, "writev");
	/* What a full buffer did not take. */
	sent = sent < 0 ? 0 : sent;
	return tcp_send(client->fd, client->message + sent, client->size - (size_t)sent,
		&client->wait, err);
}

static int
send_corked(struct client *client, struct err *err)
{
	if (tcp_set_option(client->fd, TCP_CORK, 1, "TCP_CORK", err) < 0 ||
		send_two(client, err) < 0)
		return -1;
	return tcp_set_option(client->fd, TCP_CORK, 0, "TCP_CORK", err);
}

static int
send_message(struct client *client, struct err *err)
{
	switch (client->options->write) {
	case WRITE_SPLIT:
		return send_split(client, err);
	case WRITE_WRITEV:
		return send_gathered(client, err);
	case WRITE_CORK:
		return send_corked(client, err);
	default:
		return tcp_send(client->fd, client->message, client->size, &client->wait, err);
	}
}

static int
receive_echo(struct client *client, struct err *err)
{
	return tcp_receive_all(client->fd, client->reply, client->size, &client->wait, err);
}

static int
check_echo(const struct client *client, struct err *err)
{
	if (memcmp(client->message, client->reply, client->size) == 0)
		return 0;
	return err_set(err, "the reply is not an echo of the message");
}

static int
round_trip(struct client *client, int64_t *took_ns, struct err *err)
{
	int64_t start;

	fill_message(client, PART_ECHO_YES);
	start = clock_now();
	if (send_message(client, err) < 0 || receive_echo(client, err) < 0)
		return -1;
	*took_ns = clock_now() - start;
	return check_echo(client, err);
}

/* What the kernel counted on this connection after `before`. */
static int
count_segments(struct client *client, const struct tcp_info *before, struct err *err)
{
	struct tcp_info info;

	if (tcp_read_info(client->fd, &info, err) < 0)
		return -1;
	client->retransmits = info.tcpi_total_retrans - before->tcpi_total_retrans;
	client->segments = info.tcpi_data_segs_out - before->tcpi_data_segs_out -
			   client->retransmits;
	return 0;
}

static int
run_pingpong(struct client *client, struct err *err)
{
	struct tcp_info before;

	if (round_trip(client, &client->first_ns, err) < 0 ||
		tcp_read_info(client->fd, &before, err) < 0)
		return -1;
	client->held = 0;
	for (int64_t i = 0; i < client->call->samples; i++)
		if (round_trip(client, &client->sample_ns[i], err) < 0)
			return -1;
	return count_segments(client, &before, err);
}

static int
run_stream(struct client *client, struct err *err)
{
	int64_t samples = client->call->samples, start;
	struct tcp_info before;

	if (tcp_read_info(client->fd, &before, err) < 0)
		return -1;
	start = clock_now();
	for (int64_t i = 0; i < samples; i++) {
		int64_t begin;

		fill_message(client, i + 1 < samples ? PART_ECHO_NO : PART_ECHO_YES);
		begin = clock_now();
		if (send_message(client, err) < 0)
			return -1;
		client->sample_ns[i] = clock_now() - begin;
	}
	if (receive_echo(client, err) < 0)
		return -1;
	client->total_ns = clock_now() - start;
	if (check_echo(client, err) < 0)
		return -1;
	return count_segments(client, &before, err);
}

static int
open_connection(struct client *client, struct err *err)
{
	const struct addr *peer = &client->call->addr;

	client->fd = tcp_socket(addr_family(peer), client->wait.how, err);
	if (client->fd < 0 ||
		tcp_set_option(client->fd, TCP_NODELAY, client->options->nodelay == NODELAY_ON,
			"TCP_NODELAY", err) < 0 ||
		tcp_connect(client->fd, peer, &client->wait, err) < 0)
		return -1;
	return tcp_congestion(client->fd, client->congestion, err);
}

static void
print_results(const struct client *client)
{
	bool stream = client->options->pattern == PATTERN_STREAM;

	record_info(stdout, "congestion", "%s", client->congestion);
	probe_samples(stream ? "send" : "round_trip", client->sample_ns,
		(size_t)client->call->samples);
	if (stream)
		probe_samples("total", &client->total_ns, 1);
	else
		probe_samples("first_round_trip", &client->first_ns, 1);
	if (client->options->write == WRITE_SPLIT)
		record_count(stdout, "held", client->held);
	record_count(stdout, "segments", client->segments);
	record_count(stdout, "retransmits", client->retransmits);
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	size_t size = (size_t)options->size;
	struct client client = {
		.call = call,
		.options = options,
		.wait = {(enum wait_how)options->placement.wait, call->deadline_ns},
		.size = size,
		.first = size / 2,
		.message = alloc_zero(1, size),
		.reply = alloc_zero(1, size),
		.fd = -1,
		.sample_ns = alloc_zero((size_t)call->samples, sizeof(int64_t)),
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	if (status)
		goto out;
	status = open_connection(&client, err);
	if (status == 0)
		status = options->pattern == PATTERN_STREAM ? run_stream(&client, err)
							    : run_pingpong(&client, err);
	if (status == 0)
		print_results(&client);
out:
	if (client.fd >= 0)
		close(client.fd);
	free(client.message);
	free(client.reply);
	free(client.sample_ns);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe nagle = {
		.name = "nagle",
		.summary =
			"what a message in two writes costs: Nagle's algorithm and delayed ACKs",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.serve = serve,
		.run = run,
	};

	return probe_main(&nagle, argc, argv);
}
