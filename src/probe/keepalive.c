/* What keeping an HTTP/1.1 connection is worth, and how it is lost unawares.
 *
 * The client sends one GET (or HEAD) after the other and reads each reply to its end. With
 * mode=on it reuses its connection as long as the replies allow it, with mode=off it asks for
 * `Connection: close` each time. Whether a connection was really kept is counted by the server.
 *
 * A reused connection may turn out to be closed by then: the server's idle timeout races the
 * next request. If that shows before any byte of the reply, the request is sent once more on a
 * new connection (RFC 9112, 9.3.1) and counted in `reconnects`; on a new one it is an error. */
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/tcp.h"
#include "probe/http.h"
#include "probe/site.h"

#define READ_SIZE 65536

enum mode { MODE_ON, MODE_OFF };
enum trap { TRAP_NONE, TRAP_UNDRAINED, TRAP_SERVER_CLOSE, TRAP_IDLE_TIMEOUT };

struct options {
	struct placement placement;
	int mode;
	int framing;
	int trap;
	int64_t size;
	int64_t idle;
	int64_t pause;
	const char *path;
	const char *host;
};

static const struct opt option_table[] = {
	{.name = "mode",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, mode),
		.default_text = "on",
		.choices = "on|off",
		.help = "keep the connection, or close it after each request"},
	{.name = "framing",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, framing),
		.default_text = "length",
		.choices = FRAMING_CHOICES,
		.help = "how the end of a reply is known; http10 and eof end the connection"},
	{.name = "trap",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, trap),
		.default_text = "none",
		.choices = "none|undrained|server_close|idle_timeout",
		.help = "how keep-alive is lost: the client leaves the body unread, the server "
			"closes after each reply, or closes what is idle while the client "
			"pauses"},
	{.name = "size",
		.type = OPT_SIZE,
		.offset = offsetof(struct options, size),
		.default_text = "64b",
		.max = 1 << 26,
		.help = "bytes of a reply's body"},
	{.name = "idle",
		.type = OPT_DURATION,
		.offset = offsetof(struct options, idle),
		.default_text = "20ms",
		.min = 1,
		.help = "trap=idle_timeout: the server closes a connection idle this long"},
	{.name = "pause",
		.type = OPT_DURATION,
		.offset = offsetof(struct options, pause),
		.default_text = "20ms",
		.help = "trap=idle_timeout: the client waits this long between requests"},
	{.name = "path",
		.type = OPT_TEXT,
		.offset = offsetof(struct options, path),
		.default_text = "/",
		.help = "what to ask a server for that is not ours"},
	{.name = "host",
		.type = OPT_TEXT,
		.offset = offsetof(struct options, host),
		.default_text = "",
		.help = "Host header; empty: the peer's address"},
	PLACEMENT_OPTIONS(struct options, placement),
	{0},
};

static const struct metric metric_table[] = {
	{"request", RECORD_NS,
		"request to the end of its reply, connect included when the connection is new"},
	{"reconnects", RECORD_COUNT_UNIT,
		"requests sent again because a reused connection was closed before any reply"},
	{"connects", RECORD_COUNT_UNIT, "connections the client opened"},
	{"connections", RECORD_COUNT_UNIT, "connections the server accepted"},
	{"requests", RECORD_COUNT_UNIT, "requests the server answered"},
	{0},
};

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;

	if (http_check_target(options->path, options->host, err) < 0)
		return -1;
	return placement_check(&options->placement, err);
}

/* ---- server ---- */

static int
serve(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct site site = {
		.framing = (enum http_framing)options->framing,
		.size = (size_t)options->size,
		.never_keep = options->trap == TRAP_SERVER_CLOSE ||
			      options->framing == FRAMING_EOF,
		.idle_ns = options->trap == TRAP_IDLE_TIMEOUT ? options->idle : 0,
	};

	return site_serve(&site, &options->placement, call, err);
}

/* ---- client ---- */

struct client {
	const struct probe_call *call;
	const struct options *options;
	struct wait wait;
	struct buf request;
	struct http_reader *reader;
	char *bytes;
	int fd;      /* -1: none is open */
	bool reused; /* fd has carried a reply */
	int64_t *request_ns;
	size_t count;
	int64_t lost, connects, reconnects;
	char congestion[TCP_CONGESTION_SIZE];
};

static void
hang_up(struct client *client)
{
	int saved = errno;

	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	errno = saved;
}

static int
connect_client(struct client *client, struct err *err)
{
	const struct addr *peer = &client->call->addr;

	client->fd = tcp_socket(addr_family(peer), client->wait.how, err);
	if (client->fd < 0)
		return -1;
	client->connects++;
	client->reused = false;
	http_reader_reset(client->reader);
	return tcp_connect(client->fd, peer, &client->wait, err);
}

/* Read one reply. *started: a byte of it was seen. */
static int
read_reply(struct client *client, bool *started, struct err *err)
{
	const struct http_message *message = http_reader_message(client->reader);
	bool headers_suffice = client->options->trap == TRAP_UNDRAINED;

	while (!message->complete && !(headers_suffice && message->headed)) {
		ssize_t got = tcp_receive(
			client->fd, client->bytes, READ_SIZE, &client->wait, err);

		if (got < 0)
			return -1;
		if (got == 0)
			return http_reply_cut(client->reader, *started, err);
		*started = true;
		if (http_reply_feed(client->reader, client->bytes, (size_t)got, err) < 0)
			return -1;
	}
	return 0;
}

/* Send the request on the open connection and read the reply. */
static int
exchange(struct client *client, bool *started, struct err *err)
{
	*started = false;
	http_reader_next(client->reader, client->options->framing == FRAMING_HEAD);
	if (tcp_send(client->fd, client->request.data, client->request.len, &client->wait,
		    err) < 0)
		return -1;
	return read_reply(client, started, err);
}

/* One request, with the one retry that a reused connection earns. */
static int
request(struct client *client, struct err *err)
{
	bool started;

	if (client->fd < 0 && connect_client(client, err) < 0)
		return -1;
	if (exchange(client, &started, err) == 0)
		return 0;
	if (!client->reused || started || (errno != ECONNRESET && errno != EPIPE))
		return -1;
	client->reconnects++;
	hang_up(client);
	if (connect_client(client, err) < 0)
		return -1;
	return exchange(client, &started, err);
}

/* May, and shall, the connection carry another request? A body that nobody read would be taken
 * for the next reply, and that it arrived together with the header does not make it read. */
static bool
keeps(const struct client *client)
{
	const struct http_message *message = http_reader_message(client->reader);
	bool unread = client->options->trap == TRAP_UNDRAINED && message->body_bytes > 0;

	return client->options->mode == MODE_ON && message->complete && message->keep &&
	       !unread;
}

static int
measure(struct client *client, struct err *err)
{
	int64_t start = clock_now(), end;

	if (request(client, err) < 0)
		return -1;
	end = clock_now();
	if (http_reply_check(client->reader, client->options->path, err) < 0)
		return -1;
	client->request_ns[client->count++] = end - start;
	if (!*client->congestion && tcp_congestion(client->fd, client->congestion, err) < 0)
		return -1;
	if (keeps(client))
		client->reused = true;
	else
		hang_up(client);
	return 0;
}

static int
run_all(struct client *client, struct err *err)
{
	bool pauses = client->options->trap == TRAP_IDLE_TIMEOUT;

	for (int64_t i = 0; i < client->call->samples; i++) {
		if (pauses && i > 0)
			clock_sleep_until(clock_now() + client->options->pause);
		if (measure(client, err) == 0)
			continue;
		hang_up(client);
		if (!tcp_lost(errno))
			return -1;
		client->lost++;
	}
	if (!client->count)
		return err_prefix(err, "all %lld requests failed, the last",
			(long long)client->call->samples);
	return 0;
}

static void
write_request(struct client *client)
{
	const struct options *options = client->options;
	char peer[ADDR_TEXT_SIZE];

	addr_format(&client->call->addr, peer);
	http_write_request(&client->request, (enum http_framing)options->framing,
		options->mode == MODE_ON, options->path, *options->host ? options->host : peer);
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
		.bytes = alloc_zero(1, READ_SIZE),
		.reader = http_reader_new(HTTP_REPLIES),
		.request_ns = alloc_zero((size_t)call->samples, sizeof(int64_t)),
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	if (status)
		goto out;
	write_request(&client);
	status = run_all(&client, err);
	if (status < 0)
		goto out;
	record_info(stdout, "congestion", "%s", client.congestion);
	probe_samples("request", client.request_ns, client.count);
	record_count(stdout, "request_errors", client.lost);
	record_count(stdout, "reconnects", client.reconnects);
	record_count(stdout, "connects", client.connects);
out:
	hang_up(&client);
	http_reader_free(client.reader);
	buf_free(&client.request);
	free(client.bytes);
	free(client.request_ns);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe keepalive = {
		.name = "keepalive",
		.summary = "what a kept HTTP/1.1 connection is worth, and how it is lost",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.serve = serve,
		.run = run,
	};

	return probe_main(&keepalive, argc, argv);
}
