/* What becomes of messages sent over TCP, and over UDP: which arrive, in what order, how late,
 * where the others are lost, what sending one costs and what the link carries for it.
 *
 * The client sends N numbered messages one way, as fast as it can or at a pace; each carries
 * the time it was sent, by the clock that both halves share. Then it tells the receiver how
 * many they were, so that a lost tail is noticed, and gets the account: sent = delivered + lost
 * by the network + lost in the receive buffer, or the run fails. */
#include "probe/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/tcp.h"
#include "net/traffic.h"
#include "net/udp.h"
#include "probe/arrivals.h"
#include "probe/receiver.h"

#define DATAGRAM_MAX 65507 /* over IPv4: 65535 less the headers */

enum nodelay { NODELAY_ON, NODELAY_OFF };

struct options {
	struct placement placement;
	int transport, nodelay;
	int64_t size, pace, rcvbuf, work, drain;
};

#define ROW(member) .name = #member, .offset = offsetof(struct options, member)

static const struct opt option_table[] = {
	PLACEMENT_OPTIONS(struct options, placement),
	{ROW(transport), .type = OPT_CHOICE, .default_text = "udp", .choices = "udp|tcp",
		.help = "what carries the messages"},
	{ROW(size), .type = OPT_SIZE, .default_text = "64b",
		.min = sizeof(struct receiver_message), .max = RECEIVER_SIZE_MAX,
		.help = "bytes of a message; over UDP 65507 at most"},
	{ROW(pace), .type = OPT_DURATION, .default_text = "0ns", .max = 60 * NS_PER_S,
		.help = "at least so long from one send to the next; 0ns: as fast as it goes"},
	{ROW(rcvbuf), .type = OPT_SIZE, .default_text = "0b", .max = 1 << 30,
		.help = "serve: SO_RCVBUF asked for, the kernel counts twice as much; 0b: its own "
			"choice"},
	{ROW(work), .type = OPT_DURATION, .default_text = "0ns", .max = 60 * NS_PER_S,
		.help = "serve: what the receiver sleeps behind each message before it takes the next"},
	{ROW(drain), .type = OPT_DURATION, .default_text = "100ms", .min = NS_PER_MS,
		.max = 60 * NS_PER_S,
		.help = "serve, UDP: when all are sent and none came for so long and two round "
			"trips, the rest is lost"},
	{ROW(nodelay), .type = OPT_CHOICE, .default_text = "on", .choices = "on|off",
		.help = "TCP: Nagle's algorithm off, each message may be a segment"},
	{0},
};

static const struct metric metric_table[] = {
	{"delay", RECORD_NS,
		"just before sending a message until the receiver has it, one way: 0.5 RTT"},
	{"send", RECORD_NS,
		"just before sending a message to just before the next; with a pace, to the return "
		"of the call"},
	{"header_bytes", RECORD_BYTES,
		"what the link carried a message besides the message: headers from IP on, both "
		"directions (TCP's acknowledgements), all of them divided by the messages"},
	{"packets", RECORD_COUNT_UNIT,
		"packets the link carried for the messages, both directions"},
	{"sent", RECORD_COUNT_UNIT, "messages the client sent"},
	{"late", RECORD_COUNT_UNIT,
		"messages that took over twice as long as the fastest, and 5 ms more than that"},
	{"retransmits", RECORD_COUNT_UNIT, "segments that TCP sent again"},
	{"delivered", RECORD_COUNT_UNIT, "messages that the receiver got, each counted once"},
	{"in_order", RECORD_COUNT_UNIT, "of those, the ones that came behind no later one"},
	{"duplicates", RECORD_COUNT_UNIT, "copies of what had come already"},
	{"lost_network", RECORD_COUNT_UNIT,
		"sent - delivered - lost_buffer: what never reached the receiver's socket unharmed"},
	{"lost_buffer", RECORD_COUNT_UNIT,
		"what the receiver's socket dropped as its buffer was full, by the kernel's counters"},
	{"buffer_overflows", RECORD_COUNT_UNIT,
		"the same as the receiver's namespace counts it, of all its sockets: UdpRcvbufErrors and UdpMemErrors"},
	{0},
};

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;

	if (options->transport == TRANSPORT_UDP && options->size > DATAGRAM_MAX)
		return err_set(err,
			"transport=udp: a message has %d bytes at most, not %" PRId64,
			DATAGRAM_MAX, options->size);
	if (options->transport == TRANSPORT_UDP && options->nodelay == NODELAY_OFF)
		return err_set(err, "nodelay=off goes with transport=tcp");
	return placement_check(&options->placement, err);
}

/* ---- server ---- */

static int
serve(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct receiver_setting setting = {
		.transport = (enum transport)options->transport,
		.rcvbuf = options->rcvbuf,
		.work_ns = options->work,
		.drain_ns = options->drain,
		.spin = options->placement.wait == WAIT_SPIN,
	};
	struct receiver_counts totals;
	int status = placement_apply(&options->placement, CPU_SERVER, err);

	if (status)
		return status;
	status = receiver_run(&setting, call, &totals, err);
	if (status)
		return status;
	record_count(stdout, "delivered", totals.delivered);
	record_count(stdout, "in_order", totals.in_order);
	record_count(stdout, "duplicates", totals.duplicates);
	record_count(stdout, "lost_network", totals.lost_network);
	record_count(stdout, "lost_buffer", totals.lost_buffer);
	if (options->transport == TRANSPORT_UDP && totals.buffer_overflows >= 0)
		record_count(stdout, "buffer_overflows", totals.buffer_overflows);
	return 0;
}

/* ---- client ---- */

/* What the link carried so far, in all and for the control connection. */
struct meter {
	struct traffic all, control;
};

struct client {
	const struct probe_call *call;
	const struct options *options;
	struct wait wait;
	int control, data;
	struct receiver_answer ready, account;
	struct traffic_device device;
	struct meter before, after;
	char *message;
	int64_t *send_ns, *delay_ns;
	int64_t sent, retransmits;
	char congestion[TCP_CONGESTION_SIZE];
};

static int
receive_answer(struct client *client, struct receiver_answer *answer, struct err *err)
{
	if (tcp_receive_all(client->control, answer, sizeof(*answer), &client->wait, err) < 0)
		return -1;
	answer->reason[sizeof(answer->reason) - 1] = '\0';
	return answer->status ? err_set(err, "the receiver: %s", answer->reason) : 0;
}

/* One way is a difference of two clocks, so they must be one. */
static int
check_clock(const struct client *client, int64_t asked_ns, struct err *err)
{
	int64_t theirs_ns = client->ready.clock_ns;

	if (theirs_ns >= asked_ns && theirs_ns <= clock_now())
		return 0;
	err_set(err, "the halves have no clock in common: both must run on one machine");
	return PROBE_UNSUPPORTED;
}

/* A UDP socket at the control connection's address, for the receiver to know us by. */
static int
bind_datagrams(struct client *client, int64_t *port, struct err *err)
{
	struct addr local, bound;

	if (addr_of_socket(client->control, &local, err) < 0)
		return -1;
	addr_set_port(&local, 0);
	client->data = udp_bind(&local, &bound, err);
	*port = client->data < 0 ? 0 : addr_port(&bound);
	return client->data < 0 ? -1 : 0;
}

static int
connect_data(struct client *client, struct err *err)
{
	struct addr peer = client->call->addr;
	int off = 0;

	addr_set_port(&peer, (uint16_t)client->ready.port);
	if (client->options->transport == TRANSPORT_UDP)
		return connect(client->data, &peer.sock.any, peer.len) < 0
			       ? err_sys(err, "connect UDP")
			       : 0;
	client->data = tcp_socket(addr_family(&peer), client->wait.how, err);
	if (client->data < 0)
		return -1;
	if (client->options->nodelay == NODELAY_OFF &&
		setsockopt(client->data, IPPROTO_TCP, TCP_NODELAY, &off, sizeof(off)) < 0)
		return err_sys(err, "clear TCP_NODELAY");
	if (tcp_connect(client->data, &peer, &client->wait, err) < 0)
		return -1;
	return tcp_congestion(client->data, client->congestion, err);
}

/* Open both connections. 0, -1 or PROBE_UNSUPPORTED. */
static int
open_connections(struct client *client, struct err *err)
{
	const struct addr *peer = &client->call->addr;
	struct receiver_hello hello = {
		.magic = RECEIVER_MAGIC,
		.count = client->call->samples,
		.size = client->options->size,
		.transport = client->options->transport,
	};
	int64_t asked_ns;
	int status, yes = 1;

	client->control = tcp_socket(addr_family(peer), client->wait.how, err);
	if (client->control < 0 || tcp_connect(client->control, peer, &client->wait, err) < 0)
		return -1;
	/* No acknowledgement of ours is to be due while the link's counters are read. */
	setsockopt(client->control, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof(yes));
	if (client->options->transport == TRANSPORT_UDP &&
		bind_datagrams(client, &hello.port, err) < 0)
		return -1;
	asked_ns = clock_now();
	if (tcp_send(client->control, &hello, sizeof(hello), &client->wait, err) < 0 ||
		receive_answer(client, &client->ready, err) < 0)
		return -1;
	status = check_clock(client, asked_ns, err);
	return status ? status : connect_data(client, err);
}

static int
find_device(struct client *client, struct err *err)
{
	struct addr local;

	if (addr_of_socket(client->control, &local, err) < 0)
		return -1;
	return traffic_find(&local, &client->call->addr, &client->device, err);
}

static int
read_meter(const struct client *client, struct meter *meter, struct err *err)
{
	if (traffic_read(&client->device, &meter->all, err) < 0)
		return -1;
	return tcp_carried(
		client->control, &meter->control.packets, &meter->control.bytes, err);
}

/* ---- sending ---- */

static int
send_message(struct client *client, struct err *err)
{
	size_t size = (size_t)client->options->size;
	/* Both kinds of socket are waited for alike where they do not block by themselves. */
	struct wait wait = {WAIT_POLL, client->wait.deadline_ns};

	if (client->options->transport == TRANSPORT_TCP)
		return tcp_send(client->data, client->message, size, &client->wait, err);
	while (sendto(client->data, client->message, size, 0, NULL, 0) < 0)
		if ((errno != EAGAIN && errno != EINTR) ||
			wait_again(client->data, POLLOUT, &wait) < 0)
			return err_sys(err, "send");
	return 0;
}

/* The time is `due_ns`, or later already. */
static int64_t
await_turn(const struct client *client, int64_t due_ns)
{
	int64_t now_ns = clock_now();

	while (now_ns < due_ns && now_ns < client->wait.deadline_ns) {
		if (client->wait.how == WAIT_BLOCK)
			clock_sleep_until(due_ns);
		now_ns = clock_now();
	}
	return now_ns;
}

/* The clock is read once a message, or twice with a pace. One that is late makes all behind it
 * late: to catch up would be a burst. */
static int
send_all(struct client *client, struct err *err)
{
	int64_t pace_ns = client->options->pace, now_ns = clock_now();

	for (int64_t i = 0; i < client->call->samples; i++) {
		struct receiver_message head = {.number = i, .sent_ns = now_ns};
		int64_t end_ns;

		if (now_ns >= client->wait.deadline_ns)
			return err_set(err, "%" PRId64 " messages sent", i);
		memcpy(client->message, &head, sizeof(head));
		if (send_message(client, err) < 0)
			return err_prefix(err, "message %" PRId64, i);
		client->sent++;
		end_ns = clock_now();
		client->send_ns[i] = end_ns - now_ns;
		now_ns = pace_ns ? await_turn(client, now_ns + pace_ns) : end_ns;
	}
	return 0;
}

/* ---- the account ---- */

static int
check_account(const struct client *client, struct err *err)
{
	const struct receiver_counts *counts = &client->account.counts;
	int64_t came = 0;

	for (int64_t i = 0; i < client->sent; i++)
		came += client->delay_ns[i] >= 0;
	if (counts->delivered < 0 || counts->lost_network < 0 || counts->lost_buffer < 0 ||
		counts->delivered != came ||
		client->sent != came + counts->lost_network + counts->lost_buffer)
		return err_set(err,
			"the sum does not close: %" PRId64 " sent, %" PRId64
			" delivered (%" PRId64 " with a delay), %" PRId64
			" lost by the network, %" PRId64 " in the buffer",
			client->sent, counts->delivered, came, counts->lost_network,
			counts->lost_buffer);
	return 0;
}

/* Wait for the receiver to have what comes, then for its account. */
static int
settle(struct client *client, struct err *err)
{
	int64_t told = client->sent;
	size_t size = (size_t)client->call->samples * sizeof(int64_t);

	if (tcp_send(client->control, &told, sizeof(told), &client->wait, err) < 0 ||
		receive_answer(client, &client->account, err) < 0 ||
		read_meter(client, &client->after, err) < 0)
		return -1;
	if (client->options->transport == TRANSPORT_TCP &&
		tcp_retransmits(client->data, &client->retransmits, err) < 0)
		return -1;
	if (tcp_send(client->control, &told, sizeof(told), &client->wait, err) < 0 ||
		tcp_receive_all(client->control, client->delay_ns, size, &client->wait, err) <
			0)
		return -1;
	return check_account(client, err);
}

/* The control connection's part in the time between the two readings is known, and not theirs.
 */
static void
print_headers(const struct client *client)
{
	const struct meter *from = &client->before, *to = &client->after;
	int64_t packets = to->all.packets - from->all.packets -
			  (to->control.packets - from->control.packets);
	int64_t bytes = to->all.bytes - from->all.bytes -
			(to->control.bytes - from->control.bytes) -
			client->sent * client->options->size;

	record_info(stdout, "device", "%s", client->device.name);
	if (packets < 0 || bytes < 0)
		return; /* it was other packets that did not come */
	record_sample(stdout, "header_bytes", RECORD_BYTES,
		(bytes + client->sent / 2) / client->sent);
	record_count(stdout, "packets", packets);
}

static void
print_results(const struct client *client)
{
	bool tcp = client->options->transport == TRANSPORT_TCP;
	int64_t lost = 0;

	if (tcp)
		record_info(stdout, "congestion", "%s", client->congestion);
	for (int64_t i = 0; i < client->sent; i++) {
		if (client->delay_ns[i] >= 0)
			record_sample(stdout, "delay", RECORD_NS, client->delay_ns[i]);
		lost += client->delay_ns[i] < 0;
	}
	record_count(stdout, "delay_errors", lost);
	probe_samples("send", client->send_ns, (size_t)client->sent);
	print_headers(client);
	record_count(stdout, "sent", client->sent);
	record_count(stdout, "late", arrivals_late(client->delay_ns, client->sent));
	if (tcp)
		record_count(stdout, "retransmits", client->retransmits);
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	size_t samples = (size_t)call->samples;
	struct client client = {
		.call = call,
		.options = options,
		.wait = {(enum wait_how)options->placement.wait, call->deadline_ns},
		.control = -1,
		.data = -1,
		.message = alloc_zero((size_t)options->size, 1),
		.send_ns = alloc_zero(samples, sizeof(int64_t)),
		.delay_ns = alloc_zero(samples, sizeof(int64_t)),
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	/* Written to once, so that no page is missing later. */
	memset(client.send_ns, 0xff, samples * sizeof(int64_t));
	prctl(PR_SET_TIMERSLACK, 1); /* a pace of 50 us is not to take 100 */
	if (!status)
		status = open_connections(&client, err);
	if (!status)
		status = find_device(&client, err);
	if (!status && read_meter(&client, &client.before, err) == 0 &&
		send_all(&client, err) == 0 && settle(&client, err) == 0)
		print_results(&client);
	else if (!status)
		status = -1;
	if (client.data >= 0)
		close(client.data);
	if (client.control >= 0)
		close(client.control);
	free(client.message);
	free(client.send_ns);
	free(client.delay_ns);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe datagram = {
		.name = "datagram",
		.summary = "what becomes of numbered messages over UDP and over TCP",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.serve = serve,
		.run = run,
	};

	return probe_main(&datagram, argc, argv);
}
