/* What a name costs: looked up far away, in a cache near by, in the hosts file; and what it
 * costs when it fails.
 *
 * The client looks up one name a sample with c-ares, at the serving half or at a cache near by
 * with the serving half behind it. Each lookup has a resolver of its own, made outside the
 * measured part, so that none inherits sockets or what c-ares learned of a server before. How
 * far the questions went is counted by the serving half. */
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/lookup.h"
#include "net/udp.h"
#include "probe/cache.h"
#include "probe/responder.h"

#define NAME_SIZE 256
#define ASKED_PORT 53 /* c-ares puts it into the addresses; nobody connects */

enum mode {
	MODE_COLD,
	MODE_CACHED,
	MODE_HOSTS,
	MODE_TIMEOUT,
	MODE_REFUSED,
	MODE_SERVFAIL,
	MODE_NXDOMAIN,
	MODE_TRUNCATED,
	MODE_CNAME,
	MODE_FAILOVER,
};

enum records { RECORDS_A, RECORDS_AAAA, RECORDS_BOTH };
enum cache_place { CACHE_NEAR, CACHE_LIBRARY, CACHE_PEER };
enum sockets { SOCKET_NEW, SOCKET_KEPT };
enum answer { ANSWER_ZONE, ANSWER_ANY };

struct options {
	struct placement placement;
	int mode, records, cache, socket, answer;
	int64_t timeout, retry, tries;
	int64_t drop, delay, chain, ttl;
	const char *name, *forward;
};

#define ROW(member) .name = #member, .offset = offsetof(struct options, member)

static const struct opt option_table[] = {
	PLACEMENT_OPTIONS(struct options, placement),
	{ROW(mode), .type = OPT_CHOICE, .default_text = "cold",
		.choices =
			"cold|cached|hosts|timeout|refused|servfail|nxdomain|truncated|cname|"
			"failover",
		.help = "where the answer is, or what goes wrong"},
	{ROW(records), .type = OPT_CHOICE, .default_text = "a", .choices = "a|aaaa|both",
		.help = "addresses asked for; both takes two queries at once"},
	{ROW(cache), .type = OPT_CHOICE, .default_text = "near", .choices = "near|library|peer",
		.help = "mode=cached: a caching resolver beside the client, c-ares's own cache, or "
			"the peer is a cache (another program)"},
	{ROW(socket), .type = OPT_CHOICE, .default_text = "new", .choices = "new|kept",
		.help = "a resolver and its socket for each lookup, or one for all"},
	{ROW(timeout), .type = OPT_DURATION, .default_text = "1s", .min = NS_PER_MS,
		.max = 3600 * NS_PER_S,
		.help = "a lookup without a result is given up after this"},
	/* c-ares 1.34 waits for 250 ms at least. */
	{ROW(retry), .type = OPT_DURATION, .default_text = "250ms", .min = 250 * NS_PER_MS,
		.max = 600 * NS_PER_S,
		.help = "without a reply for so long c-ares asks again, or the next server; then for twice "
			"as long"},
	{ROW(tries), .type = OPT_COUNT, .default_text = "1", .min = 1, .max = 20,
		.help = "queries to each server before c-ares gives up"},
	{ROW(drop), .type = OPT_COUNT, .default_text = "0", .min = 0, .max = 100,
		.help = "serve: the first queries of each question that are not answered"},
	{ROW(delay), .type = OPT_DURATION, .default_text = "0ns", .min = 0,
		.max = 60 * NS_PER_S, .help = "serve: what a reply over UDP is held back"},
	{ROW(chain), .type = OPT_COUNT, .default_text = "3", .min = 1, .max = 16,
		.help = "serve, mode=cname: names before the one with the address"},
	{ROW(ttl), .type = OPT_DURATION, .default_text = "60s", .min = NS_PER_S,
		.max = 86400 * NS_PER_S,
		.help = "serve: how long a record may be cached, whole seconds"},
	{ROW(name), .type = OPT_TEXT, .default_text = "n*." ZONE_NAME, .choices = "NAME",
		.help = "what is looked up; a * in it stands for the number of the lookup"},
	{ROW(answer), .type = OPT_CHOICE, .default_text = "zone", .choices = "zone|any",
		.help = "addresses expected: those of our zone, or any (another server's)"},
	{ROW(forward), .type = OPT_TEXT, .choices = "ADDR",
		.help = "serve: be a cache in front of this server instead"},
	{0},
};

static const struct metric metric_table[] = {
	{"lookup", RECORD_NS,
		"call of ares_getaddrinfo() to its result: cold and cname 1 RTT, truncated 3 (UDP, "
		"then TCP), failover 1 after `retry`, cached and hosts 0"},
	{"lookup_failed", RECORD_NS,
		"the same of a lookup that is to fail: refused, servfail and nxdomain 1 RTT, timeout "
		"the whole `timeout`"},
	{"attempts", RECORD_COUNT_UNIT,
		"times the measured lookups sent, over UDP or TCP: 1 a query, but two queries over TCP "
		"may leave at once"},
	{"answered", RECORD_COUNT_UNIT,
		"lookups that brought addresses; these five: where they are to be, or were"},
	{"timed_out", RECORD_COUNT_UNIT, "lookups without any reply in time"},
	{"refused", RECORD_COUNT_UNIT,
		"lookups at a closed port, or that were answered REFUSED"},
	{"servfail", RECORD_COUNT_UNIT, "lookups answered SERVFAIL"},
	{"nxdomain", RECORD_COUNT_UNIT, "lookups of what does not exist"},
	{"forwarded", RECORD_COUNT_UNIT,
		"queries that the cache near by passed on, warm-up included: 1 a record type"},
	{"queries", RECORD_COUNT_UNIT,
		"queries the server saw: samples (twice with both, or truncated); cached 1 (2); "
		"hosts 0"},
	{"queries_tcp", RECORD_COUNT_UNIT, "those of them over TCP"},
	{"dropped", RECORD_COUNT_UNIT,
		"queries the server left unanswered, where it was told to"},
	{"malformed", RECORD_COUNT_UNIT,
		"messages to the server that were no queries, if there were any"},
	{"passed_on", RECORD_COUNT_UNIT,
		"serve forward=ADDR: queries not answered from the cache"},
	{0},
};

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;
	const char *star = strchr(options->name, '*');
	struct addr addr;

	if (placement_check(&options->placement, err) < 0)
		return -1;
	if (!*options->name || strlen(options->name) > NAME_SIZE - 16)
		return err_set(err, "name: 1 to %d characters", NAME_SIZE - 16);
	if (star && strchr(star + 1, '*'))
		return err_set(err, "name=%s: one * at most", options->name);
	if (options->mode == MODE_COLD && !star)
		return err_set(err, "mode=cold needs a * in name, for a new name each time");
	if (options->cache != CACHE_NEAR && options->mode != MODE_CACHED)
		return err_set(err, "cache=library and cache=peer go with mode=cached");
	if (options->mode == MODE_CACHED && options->cache == CACHE_NEAR &&
		options->placement.wait == WAIT_SPIN && options->placement.cpu != CPU_ANY)
		return err_set(err,
			"wait=spin needs a core besides that of the cache near by: cpu=any");
	if (options->mode == MODE_FAILOVER && options->retry >= options->timeout)
		return err_set(err, "mode=failover: retry must be less than timeout");
	if (options->mode == MODE_SERVFAIL && options->tries > 1)
		return err_set(err, "mode=servfail goes with tries=1");
	if (options->forward && addr_parse(options->forward, &addr, err) < 0)
		return err_prefix(err, "forward");
	return 0;
}

/* ---- server ---- */

static int
serve(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct responder_setting setting = {
		.tcp_only = options->mode == MODE_REFUSED,
		.silent = options->mode == MODE_TIMEOUT,
		.truncate = options->mode == MODE_TRUNCATED,
		.drop = options->drop,
		.delay_ns = options->delay,
		.chain = options->mode == MODE_CNAME ? options->chain : 0,
		.ttl = (uint32_t)(options->ttl / NS_PER_S),
		.spin = options->placement.wait == WAIT_SPIN,
	};
	struct addr behind;
	int status = placement_apply(&options->placement, CPU_SERVER, err);

	if (status)
		return status;
	if (options->forward)
		return addr_parse(options->forward, &behind, err) < 0
			       ? -1
			       : cache_serve(call, &behind, err);
	if (options->mode == MODE_SERVFAIL)
		setting.rcode = DNS_SERVFAIL;
	if (options->mode == MODE_NXDOMAIN)
		setting.rcode = DNS_NXDOMAIN;
	return responder_run(&setting, call, err);
}

/* ---- client ---- */

struct client {
	const struct probe_call *call;
	const struct options *options;
	enum wait_how how;
	struct lookup_setting setting;
	struct lookup *lookup;
	struct cache *cache;
	int silent_fd; /* mode=failover: the first server, which nobody reads */
	int hosts_fd;
	char hosts[ZONE_PATH_SIZE];
	uint32_t first; /* number of the first name: no cache on the way has it from before */
	char name[NAME_SIZE];
	int64_t *lookup_ns;
	size_t count;
	int64_t lost, attempts;
	int64_t outcomes[LOOKUP_WRONG + 1];
};

/* What a lookup of each mode is to end in, where it is not an answer. */
static const enum lookup_outcome expected[] = {
	[MODE_TIMEOUT] = LOOKUP_TIMEOUT,
	[MODE_REFUSED] = LOOKUP_REFUSED,
	[MODE_SERVFAIL] = LOOKUP_SERVFAIL,
	[MODE_NXDOMAIN] = LOOKUP_NXDOMAIN,
	[MODE_FAILOVER] = LOOKUP_ANSWERED,
};

static const char *const outcome_words[] = {
	[LOOKUP_ANSWERED] = "an answer",
	[LOOKUP_TIMEOUT] = "a timeout",
	[LOOKUP_REFUSED] = "a refusal",
	[LOOKUP_SERVFAIL] = "SERVFAIL",
	[LOOKUP_NXDOMAIN] = "NXDOMAIN",
	[LOOKUP_WRONG] = "a reply that is wrong",
};

static const char *const outcome_metrics[] = {
	[LOOKUP_ANSWERED] = "answered",
	[LOOKUP_TIMEOUT] = "timed_out",
	[LOOKUP_REFUSED] = "refused",
	[LOOKUP_SERVFAIL] = "servfail",
	[LOOKUP_NXDOMAIN] = "nxdomain",
};

static const int families[] = {
	[RECORDS_A] = AF_INET, [RECORDS_AAAA] = AF_INET6, [RECORDS_BOTH] = AF_UNSPEC};

/* Name number `i`: modes that ask for the same again have i = 0 throughout. */
static void
set_name(struct client *client, int64_t i)
{
	const char *name = client->options->name, *star = strchr(name, '*');
	uint32_t number = client->first + (uint32_t)i;

	if (star)
		snprintf(client->name, sizeof(client->name), "%.*s%u%s", (int)(star - name),
			name, (unsigned)number, star + 1);
	else
		snprintf(client->name, sizeof(client->name), "%s", name);
}

/* Is every address what the zone has for this name? */
static int
check_addresses(
	const struct client *client, const struct lookup_result *result, struct err *err)
{
	for (size_t i = 0; i < result->addr_count; i++) {
		const struct addr *addr = &result->addrs[i];
		char text[ADDR_TEXT_SIZE];

		if (client->options->answer == ANSWER_ANY || zone_has(client->name, addr))
			continue;
		addr_format(addr, text);
		return err_set(
			err, "%s: %s is not what the zone has for it", client->name, text);
	}
	return 0;
}

/* Of two questions one can be answered and the other lost: c-ares returns what it has. */
static bool
is_whole(const struct client *client, const struct lookup_result *result)
{
	int records = client->options->records;
	bool four = false, six = false;

	for (size_t i = 0; i < result->addr_count; i++)
		*(addr_family(&result->addrs[i]) == AF_INET6 ? &six : &four) = true;
	return (four || records == RECORDS_AAAA) && (six || records == RECORDS_A);
}

/* A resolver that knows nothing yet, unless one is to be kept. */
static int
renew(struct client *client, struct err *err)
{
	bool kept = client->setting.keep_sockets || client->setting.cache;

	if (client->lookup && kept)
		return 0;
	lookup_free(client->lookup);
	client->lookup = lookup_new(&client->setting, err);
	return client->lookup ? 0 : -1;
}

static int
look_up(struct client *client, int64_t number, struct lookup_result *result, struct err *err)
{
	struct wait wait = {.how = client->how};

	set_name(client, number);
	if (renew(client, err) < 0)
		return -1;
	wait.deadline_ns = clock_now() + client->options->timeout;
	if (wait.deadline_ns > client->call->deadline_ns)
		wait.deadline_ns = client->call->deadline_ns;
	if (lookup_name(client->lookup, client->name, families[client->options->records],
		    ASKED_PORT, &wait, result, err) < 0)
		return -1;
	if (result->outcome == LOOKUP_TIMEOUT && clock_now() >= client->call->deadline_ns)
		return err_set(err, "%s: no answer", client->name);
	return 0;
}

/* Into which of the records a lookup belongs: one that the path lost is counted, and the run
 * goes on. -1: into none, the run is pointless. */
static int
judge(struct client *client, const struct lookup_result *result, struct err *err)
{
	enum lookup_outcome wanted = expected[client->options->mode];

	client->attempts += result->attempts;
	client->outcomes[result->outcome]++;
	if (result->outcome == LOOKUP_TIMEOUT && wanted != LOOKUP_TIMEOUT) {
		client->lost++;
		err_set(err, "%s: no answer", client->name);
		return 0;
	}
	if (result->outcome != wanted)
		return err_set(err, "%s: expected %s, came %s%s%s", client->name,
			outcome_words[wanted], outcome_words[result->outcome],
			*result->reason ? ": " : "", result->reason);
	if (wanted == LOOKUP_ANSWERED && check_addresses(client, result, err) < 0)
		return -1;
	if (wanted == LOOKUP_ANSWERED && !is_whole(client, result)) {
		client->lost++;
		err_set(err, "%s: not all records asked for came", client->name);
		return 0;
	}
	client->lookup_ns[client->count++] = result->end_ns - result->start_ns;
	return 0;
}

/* What is cached must have been asked for once: a lookup that is not measured. */
static int
warm_up(struct client *client, struct err *err)
{
	struct lookup_result result;

	if (look_up(client, 0, &result, err) < 0)
		return -1;
	if (result.outcome == LOOKUP_ANSWERED)
		return check_addresses(client, &result, err);
	return err_set(err, "%s: the first lookup, which fills the cache: %s", client->name,
		result.reason);
}

static int
run_all(struct client *client, struct err *err)
{
	int mode = client->options->mode;
	bool again = mode == MODE_CACHED || mode == MODE_HOSTS;

	if (mode == MODE_CACHED && warm_up(client, err) < 0)
		return -1;
	for (int64_t i = 0; i < client->call->samples; i++) {
		struct lookup_result result;

		if (look_up(client, again ? 0 : i, &result, err) < 0 ||
			judge(client, &result, err) < 0)
			return -1;
	}
	if (client->count > 0)
		return 0;
	return err_prefix(
		err, "all %lld lookups failed, the last", (long long)client->call->samples);
}

/* ---- what the modes need ---- */

static void
loopback(int family, struct addr *addr)
{
	addr_parse(family == AF_INET6 ? "[::1]:0" : "127.0.0.1:0", addr, NULL);
}

static int
start_cache(struct client *client, struct err *err)
{
	const struct addr *peer = &client->call->addr;
	struct addr near;

	loopback(addr_family(peer), &near);
	client->cache = cache_new(&near, peer, err);
	if (!client->cache || cache_start(client->cache, err) < 0)
		return -1;
	client->setting.servers[0] = *cache_bound(client->cache);
	return 0;
}

/* A server that is there and says nothing, in front of the real one. */
static int
add_silent(struct client *client, struct err *err)
{
	struct addr near, bound;

	loopback(addr_family(&client->call->addr), &near);
	client->silent_fd = udp_bind(&near, &bound, err);
	if (client->silent_fd < 0)
		return -1;
	client->setting.servers[1] = client->setting.servers[0];
	client->setting.servers[0] = bound;
	client->setting.server_count = 2;
	return 0;
}

static int
prepare(struct client *client, struct err *err)
{
	const struct options *options = client->options;

	client->setting = (struct lookup_setting){
		.servers = {client->call->addr},
		.server_count = 1,
		.retry_ns = options->retry,
		.tries = (int)options->tries,
		.keep_sockets = options->socket == SOCKET_KEPT,
		.cache = options->mode == MODE_CACHED && options->cache == CACHE_LIBRARY,
	};
	/* A single query is waited for as long as the lookup may take. */
	if (options->tries == 1 && options->mode != MODE_FAILOVER)
		client->setting.retry_ns = 2 * options->timeout;
	if (client->setting.cache && !lookup_has_cache()) {
		err_set(err, "cache=library needs c-ares 1.31 or newer, this is %s",
			lookup_version());
		return PROBE_UNSUPPORTED;
	}
	if (getrandom(&client->first, sizeof(client->first), 0) != sizeof(client->first))
		return err_sys(err, "draw the number of the first name");
	client->first %= 100000000; /* nine digits are left for all that are made of it */
	switch (options->mode) {
	case MODE_CACHED:
		return options->cache == CACHE_NEAR ? start_cache(client, err) : 0;
	case MODE_HOSTS:
		set_name(client, 0);
		client->hosts_fd = zone_hosts(client->name, client->hosts, err);
		client->setting.hosts = client->hosts;
		return client->hosts_fd < 0 ? -1 : 0;
	case MODE_FAILOVER:
		return add_silent(client, err);
	default:
		return 0;
	}
}

static void
print_results(struct client *client)
{
	bool fails = expected[client->options->mode] != LOOKUP_ANSWERED;

	record_info(stdout, "c_ares", "%s", lookup_version());
	probe_samples(fails ? "lookup_failed" : "lookup", client->lookup_ns, client->count);
	record_count(stdout, fails ? "lookup_failed_errors" : "lookup_errors", client->lost);
	record_count(stdout, "attempts", client->attempts);
	for (int i = 0; i < LOOKUP_WRONG; i++)
		if (i == (int)expected[client->options->mode] || client->outcomes[i])
			record_count(stdout, outcome_metrics[i], client->outcomes[i]);
	if (client->cache) {
		cache_stop(client->cache);
		record_count(stdout, "forwarded", cache_counts(client->cache).forwarded);
	}
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct client client = {
		.call = call,
		.options = options,
		.how = (enum wait_how)options->placement.wait,
		.silent_fd = -1,
		.hosts_fd = -1,
		.lookup_ns = alloc_zero((size_t)call->samples, sizeof(int64_t)),
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	if (!status)
		status = prepare(&client, err);
	if (!status)
		status = run_all(&client, err);
	if (!status)
		print_results(&client);
	lookup_free(client.lookup);
	cache_free(client.cache);
	if (client.silent_fd >= 0)
		close(client.silent_fd);
	if (client.hosts_fd >= 0)
		close(client.hosts_fd);
	free(client.lookup_ns);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe dns = {
		.name = "dns",
		.summary = "what looking up a name costs, near and far, and when it fails",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.serve = serve,
		.run = run,
	};

	return probe_main(&dns, argc, argv);
}
