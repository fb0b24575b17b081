/* What a TCP socket goes through: how many are in which state, at both ends, while connections
 * come and go, and afterwards.
 *
 * Client and server each watch their own end (watch.h). The client opens `workers` connections
 * at a time and sends HTTP requests over them: load=handshake   one request each, then all are
 * closed and the next are opened load=keepalive   all requests over the same ones, closed at
 * the end load=pool        over a pool of them, in waves (pool.c), closed when one comes back
 * that is one too many, and at the end
 *
 * Who closes first goes through FIN_WAIT1 and FIN_WAIT2 into TIME_WAIT, where the socket stays
 * for a minute; the other through CLOSE_WAIT and LAST_ACK to its end. With close=server the
 * client asks for `Connection: close` and waits for the end of the connection before it closes
 * its own, so that the two never close at once (which would leave both in TIME_WAIT). With
 * linger=zero whoever closes first resets the connection instead: no state, no wait. */
#include "probe/probe.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "net/tw_reuse.h"
#include "probe/batch.h"
#include "probe/site.h"
#include "probe/watch.h"
#include "probe/workers.h"

/* What the server takes of the second that SIGTERM leaves: for the client's last words to
 * arrive, and for its own to be acknowledged. */
#define GRACE_NS (400 * NS_PER_MS)

enum load { LOAD_HANDSHAKE, LOAD_KEEPALIVE, LOAD_POOL };
enum who { CLOSE_CLIENT, CLOSE_SERVER };
enum lingering { LINGER_DEFAULT, LINGER_ZERO };
enum reuse { REUSE_DEFAULT, REUSE_OFF, REUSE_ON };

struct options {
	struct placement placement;
	int load, close, linger, reuse;
	int64_t workers, idle, ports, pace;
	int64_t every, drain;
	int64_t size;
	bool show;
};

static const struct opt option_table[] = {
	{.name = "load",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, load),
		.default_text = "handshake",
		.choices = "handshake|keepalive|pool",
		.help = "a new connection for each request, the same ones for all, or a pool of "
			"them in waves (--samples a multiple of workers)"},
	{.name = "close",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, close),
		.default_text = "client",
		.choices = "client|server",
		.help = "who closes first"},
	{.name = "linger",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, linger),
		.default_text = "default",
		.choices = "default|zero",
		.help = "zero: who closes first does so with SO_LINGER 0, a reset"},
	{.name = "reuse",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, reuse),
		.default_text = "default",
		.choices = "default|off|on",
		.help = "the client's tcp_tw_reuse, set in a network namespace of its own only: "
			"a connect may take a port in TIME_WAIT for more than a second"},
	{.name = "workers",
		.type = OPT_COUNT,
		.offset = offsetof(struct options, workers),
		.default_text = "10",
		.min = 1,
		.max = 1000,
		.help = "connections open at once, each with one request at a time"},
	{.name = "idle",
		.type = OPT_COUNT,
		.offset = offsetof(struct options, idle),
		.default_text = "2",
		.max = 1000,
		.help = "load=pool: connections kept idle at most"},
	{.name = "ports",
		.type = OPT_COUNT,
		.offset = offsetof(struct options, ports),
		.default_text = "0",
		.max = 10000,
		.help = "load=handshake: the client has only so many local ports, and goes on "
			"when none is free (no_port); 0: all"},
	{.name = "pace",
		.type = OPT_DURATION,
		.offset = offsetof(struct options, pace),
		.default_text = "0ns",
		.max = 60 * NS_PER_S,
		.help = "load=handshake: at least so long from one connection to the next"},
	{.name = "drain",
		.type = OPT_DURATION,
		.offset = offsetof(struct options, drain),
		.default_text = "0ns",
		.max = 600 * NS_PER_S,
		.help = "after the last close go on for so long, or until the client has none "
			"left in TIME_WAIT where it closes first; they last 60 s and up to a "
			"tenth more"},
	{.name = "every",
		.type = OPT_DURATION,
		.offset = offsetof(struct options, every),
		.default_text = "2ms",
		.min = 100 * NS_PER_US,
		.max = NS_PER_S,
		.help = "from one look at the sockets to the next"},
	{.name = "size",
		.type = OPT_SIZE,
		.offset = offsetof(struct options, size),
		.default_text = "64b",
		.max = 1 << 20,
		.help = "bytes of a reply's body"},
	{.name = "show",
		.type = OPT_FLAG,
		.offset = offsetof(struct options, show),
		.help = "print each half's table to stderr, a line whenever it changes"},
	PLACEMENT_OPTIONS(struct options, placement),
	{0},
};

#define STATE(name, text)                                                                      \
	{"peak_" name, RECORD_COUNT_UNIT, "client: most sockets seen at once in " text},       \
	{                                                                                      \
		"server_peak_" name, RECORD_COUNT_UNIT,                                        \
			"server: most sockets seen at once in " text                           \
	}

static const struct metric metric_table[] = {
	{"peak_syn_sent", RECORD_COUNT_UNIT,
		"client: most sockets seen at once in SYN_SENT: 1 RTT"},
	{"server_peak_syn_recv", RECORD_COUNT_UNIT,
		"server: most seen at once in SYN_RECV: 1 RTT"},
	STATE("established", "ESTABLISHED; one look is while all `workers` are"),
	STATE("fin_wait1", "FIN_WAIT1: closed first, until the peer has noticed: 1 RTT"),
	STATE("fin_wait2", "FIN_WAIT2: closed first, until the peer closes too"),
	STATE("closing", "CLOSING: both closed at once"),
	STATE("time_wait", "TIME_WAIT: closed first, and for 60 s"),
	STATE("close_wait", "CLOSE_WAIT: the peer closed first, this end not yet"),
	STATE("last_ack", "LAST_ACK: closed second, until the peer has noticed: 1 RTT"),
	{"time_wait", RECORD_COUNT_UNIT, "client: sockets in TIME_WAIT at the end"},
	{"server_time_wait", RECORD_COUNT_UNIT, "server: sockets in TIME_WAIT at the end"},
	{"time_wait_entered", RECORD_COUNT_UNIT,
		"client's kernel: sockets that went into TIME_WAIT; both ends' on loopback"},
	{"server_time_wait_entered", RECORD_COUNT_UNIT,
		"server's kernel: sockets that went into TIME_WAIT; both ends' on loopback"},
	{"left_open", RECORD_COUNT_UNIT,
		"client: sockets at the end in any state but TIME_WAIT"},
	{"server_left_open", RECORD_COUNT_UNIT,
		"server: sockets at the end in any state but LISTEN and TIME_WAIT"},
	{"drained_ms", RECORD_COUNT_UNIT,
		"client: milliseconds from the last close until none was left in TIME_WAIT; "
		"only where `drain` was long enough"},
	{"server_drained_ms", RECORD_COUNT_UNIT, "server: the same"},
	{"connects", RECORD_COUNT_UNIT, "connections the client opened"},
	{"no_port", RECORD_COUNT_UNIT,
		"connections it could not open: all `ports` in use or in TIME_WAIT"},
	{"connections", RECORD_COUNT_UNIT, "connections the server accepted"},
	{"requests", RECORD_COUNT_UNIT,
		"requests the server answered, those to close the connection included"},
	{0},
};

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;

	if (options->load == LOAD_POOL && options->close == CLOSE_SERVER &&
		options->linger == LINGER_ZERO)
		return err_set(err,
			"load=pool: close=server answers and closes: not with linger=zero");
	if (options->load != LOAD_HANDSHAKE && options->ports)
		return err_set(err, "option 'ports' is of load=handshake");
	if (options->load != LOAD_HANDSHAKE && options->pace)
		return err_set(err, "option 'pace' is of load=handshake");
	return placement_check(&options->placement, err);
}

static int
check_samples(const void *data, int64_t samples, struct err *err)
{
	const struct options *options = data;

	if (options->load == LOAD_POOL && samples % options->workers)
		return err_set(err,
			"load=pool: %lld samples are not a multiple of workers=%lld",
			(long long)samples, (long long)options->workers);
	return 0;
}

static void
watch_by(struct watch *watch, const struct options *options, enum watch_end end)
{
	watch->end = end;
	watch->every_ns = options->every;
	watch->show = options->show;
}

/* ---- server ---- */

static int
start_watch(void *context, const struct addr *bound, struct err *err)
{
	return watch_start(context, bound, err);
}

/* All of the client's connections are open while it waits for this reply. */
static void
look_now(void *context)
{
	watch_look(context, NULL);
}

static int
serve(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct watch watch = {0};
	struct site site = {
		.framing = FRAMING_LENGTH,
		.size = (size_t)options->size,
		.reset = options->close == CLOSE_SERVER && options->linger == LINGER_ZERO,
		.grace_ns = GRACE_NS,
		.listening = start_watch,
		.most = look_now,
		.context = &watch,
	};
	int status;

	watch_by(&watch, options, WATCH_SERVER);
	status = site_serve(&site, &options->placement, call, err);
	if (status) {
		watch_stop(&watch, NULL);
		return status;
	}
	if (watch_drain(&watch, 0, false, clock_now() + GRACE_NS, err) < 0 ||
		watch_stop(&watch, err) < 0)
		return -1;
	watch_print(&watch);
	return 0;
}

/* ---- client ---- */

struct client {
	const struct probe_call *call;
	const struct options *options;
	struct watch watch;
	struct batch batch;
	int64_t connects; /* of the pool */
};

/* How many connections, or requests, are next of those that are left. */
static size_t
next_of(const struct client *client, int64_t left)
{
	return (size_t)(left < client->options->workers ? left : client->options->workers);
}

static int
run_handshakes(struct client *client, struct err *err)
{
	int64_t start_ns = clock_now(), samples = client->call->samples;
	struct batch *batch = &client->batch;

	for (int64_t done = 0; done < samples;) {
		size_t count = next_of(client, samples - done), opened;

		if (client->options->pace)
			clock_sleep_until(start_ns + done * client->options->pace);
		if (batch_open(batch, count, &opened, err) < 0 ||
			batch_request(batch, opened, err) < 0 ||
			watch_look(&client->watch, err) < 0 ||
			batch_close(batch, opened, err) < 0)
			return -1;
		done += (int64_t)count;
	}
	return 0;
}

static int
run_kept(struct client *client, struct err *err)
{
	int64_t samples = client->call->samples;
	size_t count = next_of(client, samples), opened;

	if (batch_open(&client->batch, count, &opened, err) < 0)
		return -1;
	for (int64_t done = 0; done < samples;
		done += (int64_t)next_of(client, samples - done)) {
		if (batch_request(&client->batch, next_of(client, samples - done), err) < 0)
			return -1;
		if (done == 0 && watch_look(&client->watch, err) < 0)
			return -1;
	}
	return batch_close(&client->batch, count, err);
}

static int
run_pool(struct client *client, struct err *err)
{
	const struct options *options = client->options;
	char peer[ADDR_TEXT_SIZE];
	struct workers_plan plan = {
		.peer = &client->call->addr,
		.path = "/",
		.host = peer,
		.workers = (size_t)options->workers,
		.idle_max = (size_t)options->idle,
		.waves = true,
		.server_closes = options->close == CLOSE_SERVER,
		.reset = options->linger == LINGER_ZERO,
		.requests = client->call->samples,
		.spin = options->placement.wait == WAIT_SPIN,
		.deadline_ns = client->call->deadline_ns,
	};
	struct workers_result result;
	int status;

	addr_format(&client->call->addr, peer);
	status = workers_run(&plan, &result, err);
	client->connects = result.connects;
	if (status == 0 && result.lost)
		status = err_set(err, "%lld of %lld requests were lost", (long long)result.lost,
			(long long)client->call->samples);
	workers_free(&result);
	return status;
}

/* The last `ports` of those the kernel would choose from. */
static int
choose_ports(struct client *client, struct err *err)
{
	int64_t ports = client->options->ports;
	struct buf text = {0};
	unsigned low = 0, high = 0;
	int status;

	if (!ports)
		return 0;
	status = file_read("/proc/sys/net/ipv4/ip_local_port_range", 64, &text, err);
	if (status == 0 && (sscanf(buf_text(&text), "%u %u", &low, &high) != 2 ||
				   high > UINT16_MAX || low + ports > high + 1))
		status = err_set(err, "ports=%lld: the kernel gives out %u to %u only",
			(long long)ports, low, high);
	buf_free(&text);
	if (status < 0)
		return -1;
	return batch_limit_ports(
		&client->batch, (uint16_t)(high - ports + 1), (uint16_t)high, err);
}

static int
measure(struct client *client, struct err *err)
{
	static int (*const loads[])(struct client *, struct err *) = {
		[LOAD_HANDSHAKE] = run_handshakes,
		[LOAD_KEEPALIVE] = run_kept,
		[LOAD_POOL] = run_pool,
	};
	const struct options *options = client->options;

	if (watch_start(&client->watch, &client->call->addr, err) < 0 ||
		loads[options->load](client, err) < 0 ||
		watch_drain(&client->watch, options->drain, options->close == CLOSE_SERVER,
			client->call->deadline_ns, err) < 0)
		return -1;
	return watch_stop(&client->watch, err);
}

static void
print_results(const struct client *client)
{
	int value;

	record_info(stdout, "socket_list", "%s", client->watch.source);
	record_info(stdout, "looks", "%lld", (long long)client->watch.looks);
	if (tw_reuse_get(&value, NULL) == 0)
		record_info(stdout, "tcp_tw_reuse", "%d", value);
	record_count(stdout, "connects", client->connects + client->batch.connects);
	record_count(stdout, "no_port", client->batch.no_port);
	watch_print(&client->watch);
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	bool spin = options->placement.wait == WAIT_SPIN;
	struct client client = {
		.call = call,
		.options = options,
		.batch.peer = &call->addr,
		.batch.wait = {spin ? WAIT_SPIN : WAIT_POLL, call->deadline_ns},
		.batch.server_closes = options->close == CLOSE_SERVER,
		.batch.reset = options->linger == LINGER_ZERO,
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	if (status)
		return status;
	if (choose_ports(&client, err) < 0 ||
		(options->reuse != REUSE_DEFAULT &&
			tw_reuse_set(options->reuse == REUSE_ON, err) < 0))
		return PROBE_UNSUPPORTED;
	probe_raise_files();
	watch_by(&client.watch, options, WATCH_CLIENT);
	batch_init(&client.batch, (size_t)options->workers);
	status = measure(&client, err);
	if (status == 0)
		print_results(&client);
	watch_stop(&client.watch, NULL);
	batch_free(&client.batch);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe states = {
		.name = "states",
		.summary = "what a TCP socket goes through, and who is left waiting",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.check_samples = check_samples,
		.serve = serve,
		.run = run,
	};

	return probe_main(&states, argc, argv);
}
