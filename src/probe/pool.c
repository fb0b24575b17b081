/* What a client's pool of connections is worth, and what it costs when it keeps too few.
 *
 * `workers` workers send HTTP/1.1 requests over a pool that keeps at most `idle` connections
 * for later and has at most `max` open (see workers.h).
 *
 *   load=free   a worker that was answered goes on with the next request
 *   load=waves  all workers start together, and again once all were answered: then the number
 * of connections is exact, workers + (waves - 1) x (workers - idle)
 *
 * As in keepalive.c, a reused connection that turns out to be closed before any byte of the
 * reply costs one of `reconnects`; on a new one it is an error. */
#include "probe/probe.h"

#include <netinet/tcp.h>

#include "net/census.h"
#include "probe/site.h"
#include "probe/workers.h"

enum load { LOAD_FREE, LOAD_WAVES };

struct options {
	struct placement placement;
	int64_t workers;
	int64_t idle;
	int64_t max;
	int load;
	int policy;
	int64_t size;
	const char *path;
	const char *host;
};

static const struct opt option_table[] = {
	{.name = "workers",
		.type = OPT_COUNT,
		.offset = offsetof(struct options, workers),
		.default_text = "50",
		.min = 1,
		.max = 1000,
		.help = "workers, each with one request at a time"},
	{.name = "idle",
		.type = OPT_COUNT,
		.offset = offsetof(struct options, idle),
		.default_text = "2",
		.max = 1000,
		.help = "connections kept idle at most; one more that comes back is closed"},
	{.name = "max",
		.type = OPT_COUNT,
		.offset = offsetof(struct options, max),
		.default_text = "0",
		.max = 1000,
		.help = "connections open at most, workers wait in a queue for one; 0: no cap"},
	{.name = "load",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, load),
		.default_text = "free",
		.choices = "free|waves",
		.help = "a worker goes on when it was answered, or all start together once all "
			"were (--samples a multiple of workers)"},
	{.name = "policy",
		.type = OPT_CHOICE,
		.offset = offsetof(struct options, policy),
		.default_text = "lifo",
		.choices = "lifo|fifo",
		.help = "of the idle connections use the newest or the oldest"},
	{.name = "size",
		.type = OPT_SIZE,
		.offset = offsetof(struct options, size),
		.default_text = "64b",
		.max = 1 << 26,
		.help = "bytes of a reply's body"},
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
		"from when a worker wants a connection to the end of the reply: 1 RTT on an "
		"idle one, 2 on a new one, and the time in the queue before"},
	{"wait", RECORD_NS,
		"of that, until it has an established connection: 0 when one was idle, else "
		"the queue, or 1 RTT to connect"},
	{"total", RECORD_NS,
		"from the first worker's start to the end of the last reply; one a run"},
	{"connects", RECORD_COUNT_UNIT, "connections the client opened"},
	{"closed_idle", RECORD_COUNT_UNIT,
		"connections closed because `idle` others were idle when they came back"},
	{"lost_idle", RECORD_COUNT_UNIT, "idle connections that the server closed"},
	{"reconnects", RECORD_COUNT_UNIT,
		"requests sent again because a reused connection was closed before any reply"},
	{"time_wait", RECORD_COUNT_UNIT,
		"client's view: sockets in TIME_WAIT after closing all"},
	{"time_wait_entered", RECORD_COUNT_UNIT,
		"client's view: sockets that went into TIME_WAIT, those included whose port "
		"was taken again"},
	{"connections", RECORD_COUNT_UNIT, "connections the server accepted"},
	{"requests", RECORD_COUNT_UNIT, "requests the server answered"},
	{0},
};

static int
check(const void *data, struct err *err)
{
	const struct options *options = data;

	if (options->max && options->idle > options->max)
		return err_set(err,
			"option 'idle': %lld connections cannot be idle when max=%lld may be "
			"open",
			(long long)options->idle, (long long)options->max);
	if (http_check_target(options->path, options->host, err) < 0)
		return -1;
	return placement_check(&options->placement, err);
}

static int
check_samples(const void *data, int64_t samples, struct err *err)
{
	const struct options *options = data;

	if (options->load == LOAD_WAVES && samples % options->workers)
		return err_set(err,
			"load=waves: %lld samples are not a multiple of workers=%lld",
			(long long)samples, (long long)options->workers);
	return 0;
}

static int
serve(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	struct site site = {.framing = FRAMING_LENGTH, .size = (size_t)options->size};

	return site_serve(&site, &options->placement, call, err);
}

static void
print_results(const struct workers_result *result, const struct census *left, int64_t entered)
{
	record_info(stdout, "congestion", "%s", result->congestion);
	record_info(stdout, "socket_list", "%s", left->source);
	probe_samples("request", result->request_ns, result->count);
	probe_samples("wait", result->wait_ns, result->count);
	probe_samples("total", &result->total_ns, 1);
	record_count(stdout, "request_errors", result->lost);
	record_count(stdout, "connects", result->connects);
	record_count(stdout, "closed_idle", result->closed_idle);
	record_count(stdout, "lost_idle", result->lost_idle);
	record_count(stdout, "reconnects", result->reconnects);
	record_count(stdout, "time_wait", left->sockets[TCP_TIME_WAIT]);
	record_count(stdout, "time_wait_entered", entered);
}

static int
measure(const struct probe_call *call, const struct options *options, struct err *err)
{
	char peer[ADDR_TEXT_SIZE];
	struct workers_plan plan = {
		.peer = &call->addr,
		.path = options->path,
		.host = *options->host ? options->host : peer,
		.workers = (size_t)options->workers,
		.policy = (enum pool_policy)options->policy,
		.idle_max = (size_t)options->idle,
		.open_max = (size_t)options->max,
		.waves = options->load == LOAD_WAVES,
		.requests = call->samples,
		.spin = options->placement.wait == WAIT_SPIN,
		.deadline_ns = call->deadline_ns,
	};
	struct workers_result result;
	struct census left;
	int64_t before, entered;
	int status;

	addr_format(&call->addr, peer);
	if (census_time_wait_entered(&before, err) < 0)
		return -1;
	status = workers_run(&plan, &result, err);
	if (status == 0)
		status = census_settle(&call->addr, call->deadline_ns, &left, err);
	if (status == 0)
		status = census_time_wait_entered(&entered, err);
	if (status == 0)
		print_results(&result, &left, entered - before);
	workers_free(&result);
	return status;
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct options *options = call->options;
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	if (status)
		return status;
	probe_raise_files();
	return measure(call, options, err);
}

int
main(int argc, char **argv)
{
	static const struct probe pool = {
		.name = "pool",
		.summary =
			"what a client's connection pool is worth, and what too small a one costs",
		.options = option_table,
		.options_size = sizeof(struct options),
		.metrics = metric_table,
		.check = check,
		.check_samples = check_samples,
		.serve = serve,
		.run = run,
	};

	return probe_main(&pool, argc, argv);
}
