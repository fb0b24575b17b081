/* What a listener does when nobody accepts, or not fast enough: how many connections a backlog
 * of n admits, what the next client sees and for how long, and the tail that a peak leaves.
 *
 * pattern=fill, a trial for each sample, on a listener of its own:
 *   1. connect until one is not established within 200 ms (or 4 RTT): `admitted` is how many
 *      were; on a Unix socket until connect() says EAGAIN,
 *   2. that one is the next client: it waits, its kernel sends its SYN again; on a Unix socket
 *      a connect() that blocks takes its turn,
 *   3. `hold` after its SYN the server accepts everything; `after_drain` later it is in.
 * pattern=race: two at once for the last place. On a link both are answered before either takes
 * it, so that the next client believes itself connected; what it then sends is sent again until
 * there is a place, unless tcp_abort_on_overflow has it reset.
 * pattern=burst: as many clients as samples, all at once, against a server that accepts one
 * every `accept_every`.
 *
 * What happened is told by the server's kernel: the length of its accept queue, and how often
 * it had to turn one away (ListenOverflows). A client may believe itself connected whose last
 * ACK was dropped there. */
#include "probe/backlog.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/sysctl.h"
#include "net/tcp.h"
#include "probe/queue.h"
#include "probe/server.h"

#define ABORT_ON_OVERFLOW "net/ipv4/tcp_abort_on_overflow"

static const struct opt option_table[] = {
	PLACEMENT_OPTIONS(struct backlog_options, placement),
	{.name = "backlog",
		.type = OPT_TEXT,
		.offset = offsetof(struct backlog_options, backlog),
		.default_text = "5",
		.choices = "N|somaxconn",
		.help = "of listen(): a count; what is above net.core.somaxconn counts as that"},
	{.name = "pattern",
		.type = OPT_CHOICE,
		.offset = offsetof(struct backlog_options, pattern),
		.default_text = "fill",
		.choices = "fill|race|burst",
		.help = "a server that does not accept, two clients for its last place, or one that "
			"is slow to accept"},
	{.name = "socket",
		.type = OPT_CHOICE,
		.offset = offsetof(struct backlog_options, socket),
		.default_text = "tcp",
		.choices = "tcp|unix",
		.help = "of the listener; unix only where both halves share a network namespace"},
	{.name = "abort",
		.type = OPT_CHOICE,
		.offset = offsetof(struct backlog_options, abort),
		.default_text = "off",
		.choices = "off|on",
		.help = "net.ipv4.tcp_abort_on_overflow: reset whoever finds the queue full at "
			"its last ACK"},
	{.name = "hold",
		.type = OPT_DURATION,
		.offset = offsetof(struct backlog_options, hold),
		.default_text = "200ms",
		.min = 1,
		.max = 60 * NS_PER_S,
		.help = "pattern=fill: from the next client's SYN until the server accepts"},
	{.name = "accept_every",
		.type = OPT_DURATION,
		.offset = offsetof(struct backlog_options, accept_every),
		.default_text = "1ms",
		.min = 1,
		.max = NS_PER_S / 2,
		.help = "pattern=burst: what the server takes for each connection"},
	{0},
};

static const struct metric metric_table[] = {
	{"admitted", RECORD_COUNT_UNIT,
		"connections established before one was not: backlog + 1"},
	{"next_connect", RECORD_NS,
		"connect() of the next client until established: 1 s, the SYN sent again, and "
		"1 RTT, for a hold below 1 s"},
	{"after_drain", RECORD_NS,
		"the server starts to accept until the next client is established; if it believes "
		"that already, until its first byte is acknowledged"},
	{"refusal", RECORD_NS, "connect() of a non-blocking Unix socket until EAGAIN"},
	{"again", RECORD_COUNT_UNIT, "next clients that EAGAIN turned away: samples"},
	{"silent", RECORD_COUNT_UNIT, "next clients that had no answer at first: samples"},
	{"connect", RECORD_NS,
		"pattern=burst: connect() until established: 1 RTT, or more than 1 s"},
	{"served", RECORD_NS,
		"pattern=burst: connect() until the server's byte: 2 RTT, its queue, and what "
		"was lost"},
	{"believed", RECORD_COUNT_UNIT,
		"pattern=race: next clients that were established, one RTT away, where the "
		"server had no place for them: samples on a link, 0 on loopback"},
	{"resets", RECORD_COUNT_UNIT, "clients that were reset"},
	{"syn_retransmits", RECORD_COUNT_UNIT,
		"SYNs sent again by next clients, or by those of the burst"},
	{"retransmits", RECORD_COUNT_UNIT,
		"pattern=burst: segments, SYNs included, sent again by clients that were served"},
	{"queued", RECORD_COUNT_UNIT,
		"longest accept queue the server's kernel reported: backlog + 1"},
	{"accepted", RECORD_COUNT_UNIT,
		"connections the server accepted: samples x (backlog + 2), or samples if burst"},
	{"overflows", RECORD_COUNT_UNIT,
		"ListenOverflows of the server's namespace: samples for a hold below 1 s"},
	{"drops", RECORD_COUNT_UNIT, "ListenDrops of the server's namespace"},
	{0},
};

static int
check(const void *data, struct err *err)
{
	const struct backlog_options *options = data;
	int backlog;

	if (backlog_parse(options->backlog, &backlog, err) < 0)
		return -1;
	if (options->socket == BACKLOG_UNIX && options->pattern != BACKLOG_FILL)
		return err_set(err,
			"pattern=race and burst are of TCP: a Unix connect() waits, "
			"or fails at once");
	if (options->socket == BACKLOG_UNIX && options->abort)
		return err_set(err, "abort=on is one of TCP: not with socket=unix");
	return placement_check(&options->placement, err);
}

/* ---- server ---- */

struct counts {
	int64_t queued, accepted, overflows, drops;
};

struct host {
	const struct backlog_options *options;
	struct server server;
	struct counts counts;
};

/* A control connection: the queue it had opened, and the reply to its last word. */
struct control {
	struct host *host;
	struct queue queue;
	bool open;
	char reply[BACKLOG_REPLY_SIZE];
};

static void *
control_open(void *context)
{
	struct control *control = alloc_zero(1, sizeof(*control));

	control->host = context;
	return control;
}

static int
close_queue(struct control *control, struct err *err)
{
	struct queue *queue = &control->queue;
	struct counts *counts = &control->host->counts;
	int status;

	if (!control->open)
		return 0;
	control->open = false;
	status = queue_close(queue, err);
	counts->accepted += queue->accepted;
	if (status == 0) {
		counts->overflows += queue->overflowed;
		counts->drops += queue->dropped;
	}
	return status;
}

static void
control_close(void *state)
{
	close_queue(state, NULL);
	free(state);
}

static int
do_open(struct control *control, int64_t *numbers, struct err *err)
{
	const struct host *host = control->host;
	int backlog;

	if (close_queue(control, err) < 0 ||
		backlog_parse(host->options->backlog, &backlog, err) < 0)
		return -1;
	control->open = true;
	if (queue_open(&control->queue, &host->server.bound,
		    host->options->socket == BACKLOG_UNIX, backlog, err) < 0)
		return -1;
	control->queue.spin = host->server.spin;
	numbers[0] = control->queue.place;
	numbers[1] = control->queue.backlog;
	numbers[2] = control->queue.somaxconn;
	return 0;
}

static int
do_drain(struct control *control, int64_t *numbers, struct err *err)
{
	struct counts *counts = &control->host->counts;

	if (queue_length(&control->queue, &numbers[0], err) < 0)
		return -1;
	numbers[1] = clock_now();
	if (numbers[0] > counts->queued)
		counts->queued = numbers[0];
	return queue_drain(&control->queue, err);
}

static int
obey(struct control *control, char word, int64_t *numbers, struct err *err)
{
	if (word == BACKLOG_OPEN)
		return do_open(control, numbers, err);
	if (!control->open)
		return err_set(err, "no queue is open");
	if (word == BACKLOG_DRAIN && !control->queue.pacing)
		return do_drain(control, numbers, err);
	if (word == BACKLOG_PACE && !control->queue.pacing)
		return queue_pace(&control->queue, control->host->options->accept_every, err);
	if (word == BACKLOG_CLOSE)
		return close_queue(control, err);
	return err_set(err, "word %d is not one of this probe's", word);
}

static int
control_request(struct session *session, void *context)
{
	struct control *control = session->state;
	int64_t numbers[BACKLOG_NUMBERS] = {0};
	struct err err = {0};

	(void)context;
	obey(control, session->in.data[0], numbers, &err);
	session_take(session, 1);
	backlog_reply_write(control->reply, numbers, &err);
	session->out = control->reply;
	session->out_left = sizeof(control->reply);
	return 0;
}

static const struct service control_service = {
	.open = control_open,
	.close = control_close,
	.request = control_request,
};

/* What the matrix asks for, or PROBE_UNSUPPORTED; *before is what there was. */
static int
set_abort(int wanted, int64_t *before, struct err *err)
{
	if (sysctl_read(ABORT_ON_OVERFLOW, before, err) == 0 &&
		(*before == wanted || sysctl_write(ABORT_ON_OVERFLOW, wanted, err) == 0))
		return 0;
	err_prefix(err, "abort=%s", wanted ? "on" : "off");
	return PROBE_UNSUPPORTED;
}

static void
print_counts(const struct host *host)
{
	const struct counts *counts = &host->counts;

	record_count(stdout, "accepted", counts->accepted);
	if (counts->queued)
		record_count(stdout, "queued", counts->queued);
	if (host->options->socket == BACKLOG_UNIX)
		return;
	record_count(stdout, "overflows", counts->overflows);
	record_count(stdout, "drops", counts->drops);
}

static int
serve(const struct probe_call *call, struct err *err)
{
	struct host host = {
		.options = call->options,
		.server.service = &control_service,
		.server.context = &host,
	};
	int64_t before = 0;
	int status = placement_apply(&host.options->placement, CPU_SERVER, err);

	if (status)
		return status;
	host.server.spin = host.options->placement.wait == WAIT_SPIN;
	probe_raise_files();
	if (host.options->socket == BACKLOG_TCP)
		status = set_abort(host.options->abort, &before, err);
	if (status)
		return status;
	status = server_run(&host.server, call, err);
	if (host.options->socket == BACKLOG_TCP && before != host.options->abort)
		sysctl_write(ABORT_ON_OVERFLOW, before, NULL);
	if (status == 0)
		print_counts(&host);
	return status;
}

/* ---- client ---- */

static int
run_pattern(struct backlog_client *client, struct err *err)
{
	const struct probe_call *call = client->call;
	int status;

	client->control = tcp_socket(addr_family(&call->addr), client->wait.how, err);
	if (client->control < 0 ||
		tcp_connect(client->control, &call->addr, &client->wait, err) < 0)
		return -1;
	status = client->options->pattern == BACKLOG_BURST ? backlog_burst(client, err)
							   : backlog_fill(client, err);
	if (status)
		return status;
	record_info(stdout, "backlog_in_force", "%lld", (long long)client->backlog);
	record_info(stdout, "somaxconn", "%lld", (long long)client->somaxconn);
	return 0;
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct backlog_options *options = call->options;
	struct backlog_client client = {
		.call = call,
		.options = options,
		.control = -1,
		.wait = {options->placement.wait == WAIT_SPIN ? WAIT_SPIN : WAIT_POLL,
			call->deadline_ns},
	};
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	if (status)
		return status;
	probe_raise_files();
	status = run_pattern(&client, err);
	if (client.control >= 0)
		close(client.control);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe backlog = {
		.name = "backlog",
		.summary =
			"a listener's accept queue: whom it admits, and what the next client "
			"sees",
		.options = option_table,
		.options_size = sizeof(struct backlog_options),
		.metrics = metric_table,
		.check = check,
		.serve = serve,
		.run = run,
	};

	return probe_main(&backlog, argc, argv);
}
