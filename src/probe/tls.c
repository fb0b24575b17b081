/* What TLS costs on top of TCP, in round trips, CPU time and bytes, and what resumption and
 * early data give back.
 *
 * The server makes a CA and a certificate for itself, in memory, for as long as it runs. The
 * client
 *   1. asks for the CA on a connection of its own (net/tls_trust.h), unless told one with `ca`,
 *   2. opens a first connection, a full handshake that is not measured: it warms up, and brings
 *      the first ticket,
 *   3. N times: connects, shakes hands, sends one message of `size` bytes and reads the reply,
 * an echo. With session=resumed and early each connection uses the ticket of the one before;
 *      early sends the message along with the first flight.
 *
 *        connect ---- appconnect ---- starttransfer -- total         (after curl's names)
 *      TCP is open    TLS is open    first byte of reply  last byte
 *
 * A connection that was to be resumed and was not, or whose early data was not accepted, ends
 * the run: it is never a sample. */
#include "probe/probe.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/tcp.h"
#include "net/tls.h"
#include "net/tls_trust.h"
#include "probe/tls_options.h"
#include "probe/tls_service.h"

#define SIZE_MAX_BYTES 16384  /* one TLS record, and all the early data our server takes */
#define BIG_CERTIFICATE 16000 /* more than an initial window of 10 segments (RFC 6928) */

struct options {
	struct placement placement;
	struct tls_options tls;
	int64_t size;
};

static const struct opt option_table[] = {
	TLS_OPTIONS(struct options, tls),
	{.name = "size",
		.type = OPT_SIZE,
		.offset = offsetof(struct options, size),
		.default_text = "64b",
		.min = 1,
		.max = SIZE_MAX_BYTES,
		.help = "bytes of the request, and of its reply"},
	PLACEMENT_OPTIONS(struct options, placement),
	{0},
};

static const struct metric metric_table[] = {
	{"connect", RECORD_NS, "connect() until established: 1 RTT"},
	{"appconnect", RECORD_NS,
		"start of connect to the end of the handshake: 2 RTT, 3 for version=1.2 "
		"session=full"},
	{"starttransfer", RECORD_NS,
		"start of connect to the first byte of the reply: appconnect and 1 RTT; early: 2 "
		"RTT"},
	{"total", RECORD_NS, "start of connect to the last byte of the reply"},
	{"cpu_client", RECORD_NS, "client's CPU time in OpenSSL for one handshake"},
	{"cpu_server", RECORD_NS,
		"server's CPU time in OpenSSL for one handshake, tickets included"},
	{"bytes_sent", RECORD_BYTES,
		"client's TLS bytes of a connection, up to the end of the reply"},
	{"bytes_received", RECORD_BYTES,
		"server's TLS bytes of a connection, up to the end of the reply"},
	{"resumed", RECORD_COUNT_UNIT,
		"samples whose session was resumed (SSL_session_reused())"},
	{"early_accepted", RECORD_COUNT_UNIT,
		"samples whose early data was accepted (SSL_get_early_data_status())"},
	{"handshakes", RECORD_COUNT_UNIT,
		"handshakes the server completed: one more than samples, the first"},
	{"server_resumed", RECORD_COUNT_UNIT, "those of them that the server resumed"},
	{"server_early", RECORD_COUNT_UNIT,
		"those of them whose early data the server accepted"},
	{"server_failed", RECORD_COUNT_UNIT, "connections that ended within a handshake"},
	{0},
};

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;

	if (tls_options_check(&options->tls, err) < 0)
		return -1;
	return placement_check(&options->placement, err);
}

/* ---- server ---- */

/* An echo: what is there of the request. */
struct echo {
	size_t size, have;
	char *message;
};

static void *
echo_open(void *context)
{
	const struct options *options = context;
	struct echo *echo = alloc_zero(1, sizeof(*echo));

	echo->size = (size_t)options->size;
	echo->message = alloc_zero(1, echo->size);
	return echo;
}

static void
echo_close(void *state)
{
	struct echo *echo = state;

	free(echo->message);
	free(echo);
}

static int
echo_take(struct tls *tls, void *state, const char *bytes, size_t len, void *context)
{
	struct echo *echo = state;

	(void)context;
	while (len > 0) {
		size_t room = echo->size - echo->have;
		size_t part = len < room ? len : room;

		memcpy(echo->message + echo->have, bytes, part);
		echo->have += part;
		bytes += part;
		len -= part;
		if (echo->have < echo->size)
			return 0;
		echo->have = 0;
		if (tls_write(tls, echo->message, echo->size, NULL) < 0)
			return -1;
	}
	return 0;
}

static int
serve(const struct probe_call *call, struct err *err)
{
	static const struct tls_service echo_service = {echo_open, echo_close, echo_take};
	const struct options *options = call->options;
	struct tls_site site = {
		.service = &echo_service,
		.context = (void *)(uintptr_t)options,
		.server.spin = options->placement.wait == WAIT_SPIN,
		.setting = tls_options_setting(&options->tls),
		.name = options->tls.name,
		.least_certificate = options->tls.big ? BIG_CERTIFICATE : 0,
		.expect_resumed = options->tls.how != SESSION_FULL,
	};
	int status = placement_apply(&options->placement, CPU_SERVER, err);

	if (status == 0)
		status = tls_options_start(&options->tls, err);
	if (status == 0)
		status = tls_site_run(&site, call, err);
	if (status == 0) {
		probe_samples("cpu_server", site.cpu_ns, site.cpu_count);
		tls_site_print(&site);
	}
	tls_site_free(&site);
	return status;
}

/* ---- client ---- */

/* One measured connection. */
struct sample {
	int64_t connect_ns, appconnect_ns, starttransfer_ns, total_ns;
	int64_t cpu_ns;
	int64_t sent, received;
	bool resumed, early_accepted;
};

struct client {
	const struct probe_call *call;
	const struct options *options;
	struct wait wait;
	X509 *ca;
	struct tls_identity own;
	SSL_CTX *context;
	struct tls_tickets tickets;
	size_t size;
	char *message, *reply;
	struct sample *samples;
	size_t count;
	int64_t lost;
	struct tls_facts facts;
	char congestion[TCP_CONGESTION_SIZE];
};

static int
prepare_client(struct client *client, struct err *err)
{
	struct tls_setting setting = tls_options_setting(&client->options->tls);

	if (setting.mutual && !(client->own.key = tls_key_new(setting.key, err)))
		return -1;
	if (*client->options->tls.ca) {
		if (tls_trust_decode(client->options->tls.ca, &client->ca, err) < 0)
			return err_prefix(err, "option 'ca'");
	} else if (tls_trust_ask(&client->call->addr, &client->wait, &client->ca, &client->own,
			   err) < 0) {
		return -1;
	}
	client->context = tls_client_context(&setting, &client->own, client->ca, err);
	if (!client->context)
		return -1;
	if (client->options->tls.how != SESSION_FULL)
		tls_tickets_keep(client->context, &client->tickets);
	return 0;
}

static int
read_reply(
	struct client *client, struct tls *tls, int fd, struct sample *sample, struct err *err)
{
	size_t have = 0;

	while (have < client->size) {
		ssize_t got = tls_receive(
			tls, fd, client->reply + have, client->size - have, &client->wait, err);

		if (got < 0)
			return -1;
		if (have == 0)
			sample->starttransfer_ns = clock_now();
		have += (size_t)got;
	}
	sample->total_ns = clock_now();
	if (*client->options->tls.ca || !memcmp(client->message, client->reply, client->size))
		return 0;
	errno = EBADMSG;
	return err_set(err, "the reply is not an echo of the request");
}

/* Is the session what it is to be? If not, the run ends: else the row would not be what it
 * says. Also, early data that was not accepted is gone, and no reply would come. */
static int
check_session(const struct client *client, const struct tls *tls, bool ticket, struct err *err)
{
	bool early = ticket && client->options->tls.how == SESSION_EARLY;

	errno = EBADMSG;
	if (tls_resumed(tls) != ticket)
		return err_set(err, ticket ? "the server did not resume the session"
					   : "the server resumed a session nobody asked for");
	if (early && !tls_early_accepted(tls))
		return err_set(err, "the server did not accept early data");
	return 0;
}

/* From the open TCP connection to the reply; `ticket`: as the option `session` says. */
static int
talk(struct client *client, struct tls *tls, int fd, bool ticket, struct sample *sample,
	struct err *err)
{
	const struct wait *wait = &client->wait;
	bool early = ticket && client->options->tls.how == SESSION_EARLY;

	if (tls_open_client(tls, client->context, client->options->tls.name, err) < 0 ||
		(ticket && tls_resume(tls, &client->tickets, err) < 0) ||
		(early && tls_write_early(tls, client->message, client->size, err) < 0) ||
		tls_connect(tls, fd, wait, err) < 0)
		return -1;
	sample->appconnect_ns = clock_now();
	if (check_session(client, tls, ticket, err) < 0)
		return -1;
	if (!early && (tls_write(tls, client->message, client->size, err) < 0 ||
			      tls_flush(tls, fd, wait, err) < 0))
		return -1;
	return 0;
}

/* What is known of a connection once the reply is there. On TLS 1.3 the next ticket may follow
 * the reply, so it is waited for, but that is no part of the sample. */
static int
conclude(struct client *client, struct tls *tls, int fd, struct sample *sample, struct err *err)
{
	sample->cpu_ns = tls->cpu_ns;
	sample->sent = tls->sent;
	sample->received = tls->received;
	sample->resumed = tls_resumed(tls);
	sample->early_accepted = tls_early_accepted(tls);
	if (client->options->tls.how != SESSION_FULL &&
		tls_await_ticket(tls, fd, &client->tickets, &client->wait, err) < 0)
		return -1;
	tls_end(tls);
	return tls_flush(tls, fd, &client->wait, err);
}

static int
converse(struct client *client, int fd, struct tls *tls, bool ticket, struct sample *sample,
	struct err *err)
{
	int64_t start = clock_now();

	if (tcp_connect(fd, &client->call->addr, &client->wait, err) < 0)
		return -1;
	sample->connect_ns = clock_now();
	if (talk(client, tls, fd, ticket, sample, err) < 0 ||
		read_reply(client, tls, fd, sample, err) < 0 ||
		conclude(client, tls, fd, sample, err) < 0)
		return -1;
	sample->connect_ns -= start;
	sample->appconnect_ns -= start;
	sample->starttransfer_ns -= start;
	sample->total_ns -= start;
	return 0;
}

/* The first connection, full in every variant: what it negotiated holds for all. */
static int
warm_up(struct client *client, struct err *err)
{
	int fd = tcp_socket(addr_family(&client->call->addr), client->wait.how, err);
	struct sample sample = {0};
	struct tls tls = {0};
	int status = -1;

	if (fd >= 0 && converse(client, fd, &tls, false, &sample, err) == 0 &&
		tcp_congestion(fd, client->congestion, err) == 0) {
		tls_describe(&tls, &client->facts);
		status = 0;
	}
	tls_close(&tls);
	if (fd >= 0)
		close(fd);
	return status;
}

/* 0; -1 with errno when the connection was lost or something is wrong. */
static int
measure(struct client *client, struct err *err)
{
	int fd = tcp_socket(addr_family(&client->call->addr), client->wait.how, err);
	struct sample sample = {0};
	struct tls tls = {0};
	bool ticket = client->options->tls.how != SESSION_FULL;
	int status, reason;

	if (fd < 0)
		return -1;
	status = converse(client, fd, &tls, ticket, &sample, err);
	if (status == 0)
		client->samples[client->count++] = sample;
	reason = errno;
	tls_close(&tls);
	close(fd);
	errno = reason;
	return status;
}

/* A lost connection may have taken the ticket with it: then a full one draws another. */
static int
run_all(struct client *client, struct err *err)
{
	for (int64_t i = 0; i < client->call->samples; i++) {
		if (client->options->tls.how != SESSION_FULL && !client->tickets.newest &&
			warm_up(client, err) < 0)
			return -1;
		if (measure(client, err) == 0)
			continue;
		if (!tcp_lost(errno))
			return -1;
		client->lost++;
	}
	if (!client->count)
		return err_prefix(err, "all %lld connections failed, the last",
			(long long)client->call->samples);
	return 0;
}

static void
print_column(
	const struct client *client, const char *name, enum record_unit unit, size_t offset)
{
	for (size_t i = 0; i < client->count; i++) {
		const char *sample = (const char *)&client->samples[i];

		record_sample(stdout, name, unit, *(const int64_t *)(sample + offset));
	}
}

/* OpenSSL's code for this CPU can be chosen by a variable that it reads before main(): so what
 * it chose is on record. */
static void
print_facts(const struct client *client)
{
	const struct tls_facts *facts = &client->facts;

	record_info(stdout, "openssl", "%s", OpenSSL_version(OPENSSL_VERSION));
	record_info(stdout, "openssl_cpu", "%s", OpenSSL_version(OPENSSL_CPU_INFO));
	record_info(stdout, "protocol", "%s", facts->version);
	record_info(stdout, "cipher", "%s", facts->cipher);
	record_info(stdout, "negotiated_group", "%s", facts->group);
	record_info(stdout, "signature", "%s", facts->signature);
	record_info(stdout, "congestion", "%s", client->congestion);
}

static void
print_results(const struct client *client)
{
	static const struct {
		const char *name;
		enum record_unit unit;
		size_t offset;
	} columns[] = {
		{"connect", RECORD_NS, offsetof(struct sample, connect_ns)},
		{"appconnect", RECORD_NS, offsetof(struct sample, appconnect_ns)},
		{"starttransfer", RECORD_NS, offsetof(struct sample, starttransfer_ns)},
		{"total", RECORD_NS, offsetof(struct sample, total_ns)},
		{"cpu_client", RECORD_NS, offsetof(struct sample, cpu_ns)},
		{"bytes_sent", RECORD_BYTES, offsetof(struct sample, sent)},
		{"bytes_received", RECORD_BYTES, offsetof(struct sample, received)},
	};
	int64_t resumed = 0, early = 0;

	print_facts(client);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		print_column(client, columns[i].name, columns[i].unit, columns[i].offset);
	for (size_t i = 0; i < client->count; i++) {
		resumed += client->samples[i].resumed;
		early += client->samples[i].early_accepted;
	}
	record_count(stdout, "total_errors", client->lost);
	record_count(stdout, "resumed", resumed);
	record_count(stdout, "early_accepted", early);
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct client client = {
		.call = call,
		.options = options,
		.wait = {(enum wait_how)options->placement.wait, call->deadline_ns},
		.size = (size_t)options->size,
		.message = alloc_zero(1, (size_t)options->size),
		.reply = alloc_zero(1, (size_t)options->size),
		.samples = alloc_zero((size_t)call->samples, sizeof(struct sample)),
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	/* Lines, since some servers answer by the line. */
	memset(client.message, 'r', client.size - 1);
	client.message[client.size - 1] = '\n';
	if (status == 0)
		status = tls_options_start(&options->tls, err);
	if (status == 0)
		status = prepare_client(&client, err);
	if (status == 0)
		status = warm_up(&client, err);
	if (status == 0)
		status = run_all(&client, err);
	if (status == 0)
		print_results(&client);
	tls_context_free(client.context);
	tls_tickets_free(&client.tickets);
	tls_identity_free(&client.own);
	X509_free(client.ca);
	free(client.message);
	free(client.reply);
	free(client.samples);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe tls = {
		.name = "tls",
		.summary = "what TLS costs on top of TCP, full, resumed and with early data",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.serve = serve,
		.run = run,
	};

	return probe_main(&tls, argc, argv);
}
