/* One HTTPS request by name, and where its time goes: the name, TCP, TLS, the reply; and what
 * each kind of reuse gives back.
 *
 * The server has HTTPS on TCP and, on UDP at the same port, a DNS responder whose names all
 * have the server's address. A sample is one GET of https://NAME/, after curl's names:
 *
 *       namelookup ---- connect ---- appconnect ---- starttransfer ---- total
 *     address known   TCP is open    TLS is open    first byte of reply  last byte
 *
 *   state=cold        a new name, asked of the far server; a new connection; a full handshake
 *   state=dns_cached  the same name again, from a cache beside the client
 *   state=resumed     and the TLS session of the connection before
 *   state=early       and the request goes along as early data
 *   state=kept        the same connection again: no name, no TCP, no TLS
 *
 * A first request, which is not measured, fills the cache, brings the ticket, or opens the
 * connection that is kept. A connection that is not what the state says is never a sample: it
 * ends the run. */
#include "probe/probe.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/tcp.h"
#include "net/tls_trust.h"
#include "probe/cache.h"
#include "probe/https_get.h"
#include "probe/https_site.h"
#include "probe/tls_options.h"

#define SIZE_MAX_BYTES (16 << 20)

enum state { STATE_COLD, STATE_DNS_CACHED, STATE_KEPT, STATE_RESUMED, STATE_EARLY };

struct options {
	struct placement placement;
	int state, version, key;
	int64_t size, retry;
};

static const struct opt option_table[] = {
	{.name = "state",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, state),
		.default_text = "cold",
		.choices = "cold|dns_cached|kept|resumed|early",
		.help = "what there is from the request before: nothing, the name in a cache near "
			"by, the whole connection; or the name and the TLS session, without or with "
			"the request as early data (1.3)"},
	TLS_CHOICE(struct options, version, "version", "1.3", TLS_VERSION_CHOICES, "of TLS"),
	TLS_CHOICE(struct options, key, "key", "ecdsa-p256", TLS_KEY_CHOICES,
		"of the certificate and its CA (a CA of RSA has 2048 bits)"),
	{.name = "size",
		.type = OPT_SIZE,
		.offset = offsetof(struct options, size),
		.default_text = "64b",
		.min = 0,
		.max = SIZE_MAX_BYTES,
		.help = "bytes of a reply's body"},
	{.name = "retry",
		.type = OPT_DURATION,
		.offset = offsetof(struct options, retry),
		.default_text = "2s",
		.min = 250 * NS_PER_MS,
		.max = 60 * NS_PER_S,
		.help = "a name is asked for again after this, and once more after twice as long"},
	PLACEMENT_OPTIONS(struct options, placement),
	{0},
};

static const struct metric metric_table[] = {
	{"namelookup", RECORD_NS, "start until the address is known: cold 1 RTT, else 0"},
	{"connect", RECORD_NS, "start until TCP is established: namelookup and 1 RTT; kept 0"},
	{"appconnect", RECORD_NS,
		"start until TLS is established: connect and 1 RTT, 2 for a full handshake of 1.2; "
		"kept 0"},
	{"starttransfer", RECORD_NS,
		"start until the first byte of the reply: appconnect and 1 RTT; early: and 0"},
	{"total", RECORD_NS, "start until the last byte of the reply"},
	{"phase_dns", RECORD_NS, "namelookup"},
	{"phase_tcp", RECORD_NS, "namelookup to connect"},
	{"phase_tls", RECORD_NS, "connect to appconnect"},
	{"phase_wait", RECORD_NS, "appconnect to starttransfer"},
	{"phase_body", RECORD_NS, "starttransfer to total"},
	{"queries", RECORD_COUNT_UNIT,
		"DNS queries the server saw; a client's first request, which is not measured, is left "
		"out of these counters"},
	{"connections", RECORD_COUNT_UNIT,
		"TLS connections the server accepted: one a sample; kept 0"},
	{"requests", RECORD_COUNT_UNIT, "HTTP requests the server answered: one a sample"},
	{"server_resumed", RECORD_COUNT_UNIT, "TLS sessions the server resumed"},
	{"server_early", RECORD_COUNT_UNIT, "connections whose early data the server accepted"},
	{"server_failed", RECORD_COUNT_UNIT, "connections that ended within a handshake"},
	{0},
};

static struct tls_setting
setting_of(const struct options *options)
{
	return (struct tls_setting){
		.version = (enum tls_version)options->version,
		.key = (enum tls_key)options->key,
		.group = TLS_X25519,
		.early = options->state == STATE_EARLY,
	};
}

static bool
wants_cache(const struct options *options)
{
	return options->state != STATE_COLD && options->state != STATE_KEPT;
}

static bool
wants_ticket(const struct options *options)
{
	return options->state == STATE_RESUMED || options->state == STATE_EARLY;
}

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;
	struct tls_setting setting = setting_of(options);

	if (tls_check(&setting, err) < 0)
		return err_prefix(err, "state=early");
	if (wants_cache(options) && options->placement.wait == WAIT_SPIN &&
		options->placement.cpu != CPU_ANY)
		return err_set(err,
			"wait=spin needs a core besides that of the cache near by: cpu=any");
	return placement_check(&options->placement, err);
}

/* ---- server ---- */

static int
serve(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct https_site site = {setting_of(options), (size_t)options->size};

	return https_site_serve(&site, &options->placement, call, err);
}

/* ---- client ---- */

struct client {
	const struct probe_call *call;
	const struct options *options;
	struct https_client https;
	X509 *ca;
	struct cache *cache;
	struct https_conn kept;
	uint32_t first; /* number of the first name: no cache on the way has it from before */
	struct https_times *samples;
	size_t count;
	int64_t lost;
	struct tls_facts facts;
	char congestion[TCP_CONGESTION_SIZE];
};

/* The first request: what it negotiated holds for all. */
static int
warm_up(struct client *client, struct err *err)
{
	struct https_client *https = &client->https;
	struct https_conn *conn = &client->kept;
	struct https_times times;

	if (https_prepare(https, client->first, conn, err) < 0 ||
		https_get(https, conn, HTTPS_FULL, &times, err) < 0 ||
		tcp_congestion(conn->fd, client->congestion, err) < 0)
		return err_prefix(err, "the first request");
	tls_describe(&conn->tls, &client->facts);
	if (client->options->state == STATE_KEPT)
		return 0;
	if (https_end(https, conn, wants_ticket(client->options), err) < 0)
		return -1;
	https_close(conn);
	return 0;
}

/* A request on a connection of its own. */
static int
measure_new(struct client *client, struct https_times *times, struct err *err)
{
	static const enum https_session sessions[] = {
		[STATE_RESUMED] = HTTPS_RESUMED, [STATE_EARLY] = HTTPS_EARLY};
	struct https_client *https = &client->https;
	int state = client->options->state;
	uint32_t number = client->first;
	struct https_conn conn;
	int status;

	if (state == STATE_COLD)
		number += (uint32_t)client->count + (uint32_t)client->lost + 1;
	status = https_prepare(https, number, &conn, err);
	if (status == 0)
		status = https_get(https, &conn, sessions[state], times, err);
	if (status == 0)
		status = https_end(https, &conn, wants_ticket(client->options), err);
	https_close(&conn);
	return status;
}

/* Is there what the state takes from the request before? A lost connection takes it along. */
static bool
is_warm(const struct client *client)
{
	if (client->options->state == STATE_KEPT)
		return client->kept.fd >= 0;
	return !wants_ticket(client->options) || client->https.tickets.newest;
}

static int
run_all(struct client *client, struct err *err)
{
	if (warm_up(client, err) < 0)
		return -1;
	for (int64_t i = 0; i < client->call->samples; i++) {
		struct https_times *times = &client->samples[client->count];
		int status = is_warm(client) ? 0 : warm_up(client, err);

		if (status == 0)
			status = client->options->state == STATE_KEPT
					 ? https_get_again(
						   &client->https, &client->kept, times, err)
					 : measure_new(client, times, err);
		if (status == 0) {
			client->count++;
			continue;
		}
		https_close(&client->kept);
		if (!tcp_lost(errno))
			return -1;
		client->lost++;
	}
	if (!client->count)
		return err_prefix(err, "all %lld requests failed, the last",
			(long long)client->call->samples);
	return 0;
}

static int
start_cache(struct client *client, struct err *err)
{
	const struct addr *peer = &client->call->addr;
	struct addr near;

	addr_parse(addr_family(peer) == AF_INET6 ? "[::1]:0" : "127.0.0.1:0", &near, NULL);
	client->cache = cache_new(&near, peer, err);
	if (!client->cache || cache_start(client->cache, err) < 0)
		return -1;
	client->https.names.servers[0] = *cache_bound(client->cache);
	return 0;
}

static int
prepare(struct client *client, struct err *err)
{
	const struct options *options = client->options;
	struct https_client *https = &client->https;
	struct tls_setting setting = setting_of(options);
	struct tls_identity nobody = {0};

	if (getrandom(&client->first, sizeof(client->first), 0) != sizeof(client->first))
		return err_sys(err, "draw the number of the first name");
	client->first %= 100000000; /* a number of the zone has nine digits at most */
	if (tls_setup(err) < 0 ||
		tls_trust_ask(&https->peer, &https->wait, &client->ca, &nobody, err) < 0)
		return -1;
	https->context = tls_client_context(&setting, &nobody, client->ca, err);
	if (!https->context)
		return -1;
	if (wants_ticket(options))
		tls_tickets_keep(https->context, &https->tickets);
	return wants_cache(options) ? start_cache(client, err) : 0;
}

/* A column of the waterfall: from one moment of a request to another. */
static void
print_column(const struct client *client, const char *name, size_t from, size_t to)
{
	for (size_t i = 0; i < client->count; i++) {
		const char *times = (const char *)&client->samples[i];
		int64_t value = *(const int64_t *)(times + to);

		if (from != to)
			value -= *(const int64_t *)(times + from);
		record_sample(stdout, name, RECORD_NS, value);
	}
}

#define AT(moment) offsetof(struct https_times, moment##_ns)

static void
print_results(const struct client *client)
{
	static const struct {
		const char *name;
		size_t from, to; /* the same: from the start */
	} columns[] = {
		{"namelookup", AT(namelookup), AT(namelookup)},
		{"connect", AT(connect), AT(connect)},
		{"appconnect", AT(appconnect), AT(appconnect)},
		{"starttransfer", AT(starttransfer), AT(starttransfer)},
		{"total", AT(total), AT(total)},
		{"phase_dns", AT(namelookup), AT(namelookup)},
		{"phase_tcp", AT(namelookup), AT(connect)},
		{"phase_tls", AT(connect), AT(appconnect)},
		{"phase_wait", AT(appconnect), AT(starttransfer)},
		{"phase_body", AT(starttransfer), AT(total)},
	};
	const struct tls_facts *facts = &client->facts;

	record_info(stdout, "c_ares", "%s", lookup_version());
	record_info(stdout, "openssl", "%s", OpenSSL_version(OPENSSL_VERSION));
	record_info(stdout, "protocol", "%s", facts->version);
	record_info(stdout, "cipher", "%s", facts->cipher);
	record_info(stdout, "congestion", "%s", client->congestion);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		print_column(client, columns[i].name, columns[i].from, columns[i].to);
	record_count(stdout, "total_errors", client->lost);
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct client client = {
		.call = call,
		.options = options,
		.https.peer = call->addr,
		.https.wait = {(enum wait_how)options->placement.wait, call->deadline_ns},
		.https.names.servers = {call->addr},
		.https.names.server_count = 1,
		.https.names.retry_ns = options->retry,
		.https.names.tries = 2,
		.https.size = options->size,
		.kept.fd = -1,
		.samples = alloc_zero((size_t)call->samples, sizeof(struct https_times)),
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	https_client_init(&client.https);
	if (status == 0)
		status = prepare(&client, err);
	if (status == 0)
		status = run_all(&client, err);
	if (status == 0)
		print_results(&client);
	https_close(&client.kept);
	tls_context_free(client.https.context);
	https_client_free(&client.https);
	cache_free(client.cache);
	X509_free(client.ca);
	free(client.samples);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe request = {
		.name = "request",
		.summary =
			"where the time of an HTTPS request goes, and what each kind of reuse gives back",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.serve = serve,
		.run = run,
	};

	return probe_main(&request, argc, argv);
}
