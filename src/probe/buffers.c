/* What socket buffers hold, and what a window costs with distance.
 *
 * Each sample is a connection of its own, from the client, which writes, to a server that only
 * reads (probe/sink.h).
 *   pattern=block   the reader is asleep. The client writes until it has been refused for a
 *                   while with all that was sent acknowledged: the rest waits here, and the
 *                   peer's window is closed, or too small for it. Then the server is told to
 *                   read, and the client waits until it may write again.
 *   pattern=stream  the reader reads. The client writes without end, lets the flow settle, and
 *                   then measures it over a whole number of round trips, so that it does not
 *                   matter where in its burst each begins. A flow that the peer's window limits
 *                   carries one window a round trip.
 * At the end the server's count of bytes must be the client's. */
#include "probe/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "net/netstat.h"
#include "net/sockbuf.h"
#include "net/tcp.h"
#include "net/tcp_option.h"
#include "probe/flow.h"
#include "probe/sink.h"
#include "probe/writer.h"

#define QUIET_NS (50 * NS_PER_MS) /* longer than an ACK is delayed */
#define QUIET_ROUND_TRIPS 2
#define SETTLE_NS (200 * NS_PER_MS)
#define SETTLE_STEP 8 /* round trips: the window doubles in each, from ten segments on */
#define SETTLE_MOST 48
#define SETTLED_PERMILLE 100
#define READINGS 64 /* of TCP_INFO in a sample */

enum pattern { PATTERN_BLOCK, PATTERN_STREAM };

struct options {
	struct placement placement;
	int pattern;
	const char *sndbuf, *rcvbuf;
	int64_t size;
	int64_t hold;
	int64_t interval;
};

static const struct opt option_table[] = {
	PLACEMENT_OPTIONS(struct options, placement),
	{.name = "pattern",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, pattern),
		.default_text = "block",
		.choices = "block|stream",
		.help = "write to a reader that is asleep, or to one that reads"},
	{.name = "sndbuf",
		.type = OPT_TEXT,
		.offset = offsetof(struct options, sndbuf),
		.default_text = "auto",
		.help = "SO_SNDBUF of the client, such as 64kib; auto: left to the kernel"},
	{.name = "rcvbuf",
		.type = OPT_TEXT,
		.offset = offsetof(struct options, rcvbuf),
		.default_text = "auto",
		.help = "SO_RCVBUF of the server, such as 64kib; auto: left to the kernel"},
	{.name = "size",
		.type = OPT_SIZE,
		.offset = offsetof(struct options, size),
		.default_text = "64kib",
		.min = 1,
		.max = 1 << 24,
		.help = "bytes given to each write"},
	{.name = "hold",
		.type = OPT_DURATION,
		.offset = offsetof(struct options, hold),
		.default_text = "0s",
		.max = 600 * NS_PER_S,
		.help = "pattern=block: the reader sleeps this much longer"},
	{.name = "interval",
		.type = OPT_DURATION,
		.offset = offsetof(struct options, interval),
		.default_text = "500ms",
		.min = 1,
		.max = 600 * NS_PER_S,
		.help = "pattern=stream: measure this long, and 16 round trips, at least"},
	{0},
};

/* The metrics with a value for each sample, in the order of the table below. */
enum value {
	SNDBUF,
	RCVBUF,
	BLOCK_FIRST,
	BLOCKED = BLOCK_FIRST,
	WRITABLE_AFTER,
	STREAM_FIRST,
	THROUGHPUT = STREAM_FIRST,
	WINDOW,
	WINDOW_USED,
	SRTT,
	RWND_LIMITED,
	SNDBUF_LIMITED,
	VALUES
};

static const struct metric metric_table[] = {
	{"sndbuf_effective", RECORD_BYTES,
		"the client's buffer as the kernel counts it, twice what was asked for"},
	{"rcvbuf_effective", RECORD_BYTES, "the same of the server's"},
	{"blocked", RECORD_BYTES,
		"block: bytes written when the client could write no more, reader asleep"},
	{"writable_after", RECORD_NS,
		"block: from when the reader starts until the client may write again: 1.5 RTT, "
		"more where the window is small beside the client's buffer"},
	{"throughput", RECORD_BYTES_PER_S,
		"stream: bytes acknowledged (TCP_INFO) in at least 16 RTT, over that time"},
	{"window", RECORD_BYTES, "stream: the window the server's kernel advertised, mean"},
	{"window_used_permille", RECORD_COUNT_UNIT,
		"stream: throughput x srtt / window: 1000 where the window is the limit"},
	{"srtt", RECORD_NS, "stream: the kernel's smoothed RTT, mean: 1 RTT without a queue"},
	{"rwnd_limited_permille", RECORD_COUNT_UNIT,
		"stream: share of the time in which, says the kernel, the window was the limit"},
	{"sndbuf_limited_permille", RECORD_COUNT_UNIT,
		"stream: share of the time in which the client's own buffer was"},
	{"window_probes", RECORD_COUNT_UNIT,
		"block: zero-window probes the client's kernel sent (TcpExt TCPWinProbe)"},
	{"retransmits", RECORD_COUNT_UNIT, "segments, SYNs included, the client sent again"},
	{"zero_windows", RECORD_COUNT_UNIT,
		"block: times the server's kernel closed a window with the reader asleep "
		"(TcpExt TCPToZeroWindowAdv)"},
	{"connections", RECORD_COUNT_UNIT, "connections the server was asked to read"},
	{"received", RECORD_COUNT_UNIT, "bytes the server read"},
	{0},
};

/* 0 for auto. */
static int
parse_buffer(const char *name, const char *text, int64_t *bytes, struct err *err)
{
	*bytes = 0;
	if (!strcmp(text, "auto"))
		return 0;
	if (units_parse(UNIT_SIZE, text, bytes, err) < 0)
		return err_prefix(err, "option '%s'", name);
	if (*bytes < 1 || *bytes > INT_MAX / 2)
		return err_set(
			err, "option '%s': %s is not within 1b..%db", name, text, INT_MAX / 2);
	return 0;
}

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;
	int64_t bytes;

	if (parse_buffer("sndbuf", options->sndbuf, &bytes, err) < 0 ||
		parse_buffer("rcvbuf", options->rcvbuf, &bytes, err) < 0)
		return -1;
	return placement_check(&options->placement, err);
}

/* ---- server ---- */

static int
serve(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct sink sink = {.spin = options->placement.wait == WAIT_SPIN};
	int status = placement_apply(&options->placement, CPU_SERVER, err);

	if (!status)
		status = parse_buffer("rcvbuf", options->rcvbuf, &sink.rcvbuf, err);
	if (!status)
		status = sink_run(&sink, call, err);
	if (status)
		return status;
	record_count(stdout, "connections", sink.connections);
	record_count(stdout, "received", sink.received);
	if (options->pattern == PATTERN_BLOCK)
		record_count(stdout, "zero_windows", sink.zero_windows);
	return 0;
}

/* ---- client ---- */

struct sample {
	int64_t value[VALUES];
};

struct client {
	const struct probe_call *call;
	const struct options *options;
	struct wait wait; /* of requests and reports */
	int64_t sndbuf;
	char *bytes;
	struct writer writer; /* of the sample's connection */
	int fd, control;      /* -1: not open */
	struct sample *samples;
	size_t count;
	int64_t lost, probes, retransmits;
	char congestion[TCP_CONGESTION_SIZE];
};

static int
open_connection(struct client *client, int *fd, struct err *err)
{
	*fd = tcp_socket(addr_family(&client->call->addr), client->wait.how, err);
	return *fd < 0 ? -1 : tcp_connect(*fd, &client->call->addr, &client->wait, err);
}

static int
take_report(struct client *client, struct sink_report *report, struct err *err)
{
	return tcp_receive_all(client->fd, report, sizeof(*report), &client->wait, err);
}

/* A connection that the server reads, or one at which it falls asleep. */
static int
open_sink(
	struct client *client, enum sink_kind kind, struct sink_report *report, struct err *err)
{
	struct sink_request request = {.kind = kind};
	const struct addr *peer = &client->call->addr;

	client->fd = tcp_socket(addr_family(peer), client->wait.how, err);
	if (client->fd < 0)
		return -1;
	client->writer = (struct writer){
		.fd = client->fd,
		.bytes = client->bytes,
		.size = (size_t)client->options->size,
		.spin = client->wait.how == WAIT_SPIN,
		.deadline_ns = client->call->deadline_ns,
	};
	if (client->sndbuf && sockbuf_set(client->fd, SOCKBUF_SEND, client->sndbuf, err) < 0)
		return -1;
	if (tcp_connect(client->fd, peer, &client->wait, err) < 0 ||
		tcp_send(client->fd, &request, sizeof(request), &client->wait, err) < 0 ||
		take_report(client, report, err) < 0)
		return -1;
	return tcp_congestion(client->fd, client->congestion, err);
}

/* Say that this was all, and see that all of it arrived. */
static int
finish(struct client *client, struct sink_report *report, struct err *err)
{
	int64_t retransmits;

	if (shutdown(client->fd, SHUT_WR) < 0)
		return err_sys(err, "shutdown");
	if (take_report(client, report, err) < 0 ||
		tcp_retransmits(client->fd, &retransmits, err) < 0)
		return -1;
	client->retransmits += retransmits;
	if (report->bytes == client->writer.sent)
		return 0;
	errno = EBADMSG;
	return err_set(err, "%" PRId64 " bytes were written, the server read %" PRId64,
		client->writer.sent, report->bytes);
}

/* Write until nothing is taken for a while, nothing of ours is in flight and something waits:
 * the peer, not this kernel's pace, is what it waits for. */
static int
fill(struct client *client, struct err *err)
{
	struct tcp_info info = {0};
	int writable = 1;

	do {
		int64_t quiet = QUIET_NS + client->options->hold;
		ssize_t taken;

		do
			taken = writer_write(&client->writer, err);
		while (taken > 0);
		if (taken < 0 || tcp_read_info(client->fd, &info, err) < 0)
			return -1;
		quiet += QUIET_ROUND_TRIPS * info.tcpi_rtt * NS_PER_US;
		writable = writer_await(&client->writer, clock_now() + quiet, err);
		if (writable < 0 || tcp_read_info(client->fd, &info, err) < 0)
			return -1;
	} while (writable || info.tcpi_unacked || !info.tcpi_notsent_bytes);
	return 0;
}

static int
measure_block(struct client *client, int64_t *value, struct err *err)
{
	struct sink_request request = {.kind = SINK_WAKE};
	struct sink_report report;
	int64_t before, after, end;

	if (netstat_read("TcpExt", "TCPWinProbe", &before, err) < 0 ||
		open_sink(client, SINK_SLEEP, &report, err) < 0 || fill(client, err) < 0 ||
		netstat_read("TcpExt", "TCPWinProbe", &after, err) < 0 ||
		sockbuf_get(client->fd, SOCKBUF_SEND, &value[SNDBUF], err) < 0)
		return -1;
	value[BLOCKED] = client->writer.sent;
	value[RCVBUF] = report.rcvbuf;
	client->probes += after - before;
	request.id = report.id;
	if (tcp_send(client->control, &request, sizeof(request), &client->wait, err) < 0 ||
		writer_await(&client->writer, INT64_MAX, err) < 0)
		return -1;
	end = clock_now();
	if (finish(client, &report, err) < 0)
		return -1;
	value[WRITABLE_AFTER] = end - report.started_ns;
	if (value[WRITABLE_AFTER] >= 0)
		return 0;
	errno = EBADMSG;
	return err_set(err, "the client could write before the server read");
}

/* Until the flow has found its limit: in a step of bbr's eight rounds, its pace or slow start
 * no longer is it. One that never shows another limit is measured all the same. */
static int
settle(struct client *client, int64_t rtt_ns, struct err *err)
{
	int64_t start = clock_now(), step = SETTLE_STEP * rtt_ns;
	int64_t end = start + SETTLE_MOST * rtt_ns;
	int64_t now = start + step;
	struct tcp_info readings[2];
	struct flow flow = {0};

	if (now < start + SETTLE_NS)
		now = start + SETTLE_NS;
	if (writer_fill_until(&client->writer, now, err) < 0)
		return -1;
	do {
		now = clock_now();
		if (tcp_read_info(client->fd, &readings[0], err) < 0 ||
			writer_fill_until(&client->writer, now + step, err) < 0 ||
			tcp_read_info(client->fd, &readings[1], err) < 0)
			return -1;
		flow_evaluate(readings, 2, clock_now() - now, &flow);
	} while (flow.rwnd_limited + flow.sndbuf_limited < SETTLED_PERMILLE &&
		 clock_now() < end);
	return 0;
}

/* Measure the flow that is under way. */
static int
observe(struct client *client, int64_t *value, struct err *err)
{
	struct tcp_info readings[READINGS + 1];
	struct flow flow;
	int64_t start, length;

	if (tcp_read_info(client->fd, &readings[0], err) < 0)
		return -1;
	start = clock_now();
	length = flow_interval(client->options->interval, readings[0].tcpi_min_rtt * NS_PER_US);
	for (int i = 1; i <= READINGS; i++)
		if (writer_fill_until(&client->writer, start + length * i / READINGS, err) <
				0 ||
			tcp_read_info(client->fd, &readings[i], err) < 0)
			return -1;
	flow_evaluate(readings, READINGS + 1, clock_now() - start, &flow);
	value[THROUGHPUT] = flow.throughput;
	value[WINDOW] = flow.window;
	value[WINDOW_USED] = flow.window_used;
	value[SRTT] = flow.srtt_ns;
	value[RWND_LIMITED] = flow.rwnd_limited;
	value[SNDBUF_LIMITED] = flow.sndbuf_limited;
	return 0;
}

static int
measure_stream(struct client *client, int64_t *value, struct err *err)
{
	struct sink_report report;
	struct tcp_info info;

	if (open_sink(client, SINK_READ, &report, err) < 0 ||
		tcp_read_info(client->fd, &info, err) < 0)
		return -1;
	if (!info.tcpi_snd_wnd) {
		err_set(err, "this kernel does not tell the peer's window (Linux 5.4 does)");
		return PROBE_UNSUPPORTED;
	}
	if (settle(client, info.tcpi_rtt * NS_PER_US, err) < 0 ||
		observe(client, value, err) < 0 ||
		sockbuf_get(client->fd, SOCKBUF_SEND, &value[SNDBUF], err) < 0 ||
		finish(client, &report, err) < 0)
		return -1;
	value[RCVBUF] = report.rcvbuf;
	return 0;
}

static void
hang_up(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

/* A sample each; one whose connection the path lost is counted, unless all are. */
static int
run_all(struct client *client, struct err *err)
{
	bool blocks = client->options->pattern == PATTERN_BLOCK;

	if (blocks && open_connection(client, &client->control, err) < 0)
		return -1;
	for (int64_t i = 0; i < client->call->samples; i++) {
		int64_t *value = client->samples[client->count].value;
		int status = blocks ? measure_block(client, value, err)
				    : measure_stream(client, value, err);

		hang_up(&client->fd);
		if (status < 0 && errno == ENOBUFS)
			return PROBE_UNSUPPORTED;
		if (status > 0 || (status < 0 && !tcp_lost(errno)))
			return status;
		client->lost += status < 0;
		client->count += status == 0;
	}
	if (client->count)
		return 0;
	return err_prefix(
		err, "all %" PRId64 " connections failed, the last", client->call->samples);
}

static void
print_values(const struct client *client, enum value first, enum value end)
{
	for (enum value i = first; i < end; i++) {
		const struct metric *metric = &metric_table[i];
		char errors[RECORD_NAME_SIZE];

		for (size_t j = 0; j < client->count; j++)
			record_sample(stdout, metric->name, metric->unit,
				client->samples[j].value[i]);
		snprintf(errors, sizeof(errors), "%s_errors", metric->name);
		if (client->lost)
			record_count(stdout, errors, client->lost);
	}
}

static void
print_results(const struct client *client)
{
	record_info(stdout, "congestion", "%s", client->congestion);
	print_values(client, 0, BLOCK_FIRST);
	if (client->options->pattern == PATTERN_BLOCK) {
		print_values(client, BLOCK_FIRST, STREAM_FIRST);
		record_count(stdout, "window_probes", client->probes);
	} else {
		print_values(client, STREAM_FIRST, VALUES);
	}
	record_count(stdout, "retransmits", client->retransmits);
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct client client = {
		.call = call,
		.options = options,
		.wait = {(enum wait_how)options->placement.wait, call->deadline_ns},
		.fd = -1,
		.control = -1,
		.bytes = alloc_zero(1, (size_t)options->size),
		.samples = alloc_zero((size_t)call->samples, sizeof(struct sample)),
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	if (!status)
		status = parse_buffer("sndbuf", options->sndbuf, &client.sndbuf, err);
	if (!status)
		status = run_all(&client, err);
	if (!status)
		print_results(&client);
	hang_up(&client.fd);
	hang_up(&client.control);
	free(client.bytes);
	free(client.samples);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe buffers = {
		.name = "buffers",
		.summary = "what socket buffers hold, and what a window costs with distance",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.serve = serve,
		.run = run,
	};

	return probe_main(&buffers, argc, argv);
}
