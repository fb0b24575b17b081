/* pattern=fill: connect until the queue is full, watch the next client, have the queue drained.
 */
#include "probe/backlog.h"

#include <errno.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "net/tcp.h"
#include "net/tcp_option.h"
#include "probe/queue.h"

#define WAVE 64                       /* connections begun at once while there is room */
#define SPARE 64                      /* admitted beyond the backlog before we give up */
#define PATIENCE_NS (200 * NS_PER_MS) /* a connect that takes longer was not answered */
#define PATIENCE_RTTS 4

enum outcome { SILENT, RESET, AGAIN, OUTCOMES };

struct fill {
	struct backlog_client *client;
	int *fds; /* admitted, in order, and behind them the next one */
	size_t cap, admitted;
	int64_t next_start, next_end, drained;
	int64_t established; /* the latest that was */
	int64_t got_in;      /* the next client, to the server; 0: never */
	size_t count, next_count, after_count, refusal_count; /* samples */
	int64_t *admitted_of, *next_ns, *after_ns, *refusal_ns;
	int64_t seen[OUTCOMES];
	int64_t believed, syn_retransmits;
};

/* ---- Unix ---- */

static int
local_socket(int flags, struct err *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	return fd < 0 ? err_sys(err, "Unix socket") : fd;
}

static int
local_connect(const struct fill *fill, int fd)
{
	struct sockaddr_un name;
	socklen_t len = queue_local_name(fill->client->place, &name);

	return connect(fd, (const struct sockaddr *)&name, len);
}

/* 1: admitted, 0: it is full, PROBE_UNSUPPORTED, or -1. */
static int
local_step(struct fill *fill, struct err *err)
{
	int fd = local_socket(SOCK_NONBLOCK, err);
	int64_t start;

	if (fd < 0)
		return -1;
	fill->fds[fill->admitted] = fd;
	start = clock_now();
	if (local_connect(fill, fd) == 0) {
		fill->admitted++;
		return 1;
	}
	if (errno == EAGAIN) {
		fill->refusal_ns[fill->refusal_count++] = clock_now() - start;
		return 0;
	}
	err_sys(err, "connect to the Unix socket of the other half");
	if (errno != ECONNREFUSED)
		return -1;
	err_set(err, "Unix sockets do not leave their network namespace: the other half is in "
		     "another");
	return PROBE_UNSUPPORTED;
}

struct blocked {
	struct fill *fill;
	int fd, error;
};

static void *
connect_blocked(void *context)
{
	struct blocked *blocked = context;
	struct fill *fill = blocked->fill;

	fill->next_start = clock_now();
	if (local_connect(fill, blocked->fd) < 0)
		blocked->error = errno;
	fill->next_end = clock_now();
	return NULL;
}

static int
ask_drain(struct fill *fill, struct err *err)
{
	int64_t numbers[BACKLOG_NUMBERS];

	if (backlog_ask(fill->client, BACKLOG_DRAIN, numbers, err) < 0)
		return -1;
	fill->drained = numbers[1];
	return 0;
}

/* A connect() that may block, in a thread, while this one has the queue drained. */
static int
local_next(struct fill *fill, struct err *err)
{
	struct blocked blocked = {.fill = fill};
	int64_t left = fill->client->call->deadline_ns - clock_now();
	struct timeval patience = {.tv_sec = left / NS_PER_S + 1};
	pthread_t thread;
	int status;

	fill->seen[AGAIN]++;
	close(fill->fds[fill->admitted]);
	blocked.fd = fill->fds[fill->admitted] = local_socket(0, err);
	if (blocked.fd < 0)
		return -1;
	setsockopt(blocked.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (thread_start(&thread, connect_blocked, &blocked, err) < 0)
		return -1;
	clock_sleep_until(clock_now() + fill->client->options->hold);
	status = ask_drain(fill, err);
	pthread_join(thread, NULL);
	fill->got_in = fill->next_end;
	errno = blocked.error;
	if (status == 0 && blocked.error)
		return err_sys(err, "connect to a Unix socket that was drained");
	return status;
}

/* ---- TCP ---- */

/* Begin the next `count` connections. */
static int
begin(struct fill *fill, size_t count, struct err *err)
{
	const struct addr *peer = &fill->client->peer;

	for (size_t i = 0; i < count; i++) {
		int *fd = &fill->fds[fill->admitted + i];

		*fd = tcp_socket(addr_family(peer), WAIT_POLL, err);
		fill->next_start = clock_now();
		if (*fd < 0 || tcp_connect_start(*fd, peer, err) < 0)
			return -1;
	}
	return 0;
}

/* 1: admitted, 0: not answered in time or reset, as errno says, -1 failed. */
static int
look(struct fill *fill, int fd, int64_t until, struct err *err)
{
	struct wait wait = {.how = fill->client->wait.how, .deadline_ns = until};

	if (tcp_connect(fd, &fill->client->peer, &wait, err) == 0)
		return 1;
	return errno == ETIME || errno == ECONNRESET ? 0 : -1;
}

/* Never more than certainly have a place, one by one where it may be the last; in a race two
 * for the last one. */
static size_t
wave_size(const struct fill *fill, int64_t room)
{
	if (room > 1)
		return room < WAVE ? (size_t)room : WAVE;
	return room == 0 && fill->client->options->pattern == BACKLOG_RACE ? 2 : 1;
}

/* A wave of connections. 1: all were admitted, 0: the first that was not stands behind them,
 * -1.
 */
static int
wave(struct fill *fill, int64_t patience, struct err *err)
{
	int64_t room = fill->client->backlog - (int64_t)fill->admitted, until;
	size_t count = wave_size(fill, room);
	size_t first = fill->admitted;
	int status = begin(fill, count, err), error;

	until = clock_now() + patience;
	for (size_t i = 0; status == 0 && i < count; i++) {
		status = look(fill, fill->fds[first + i], until, err);
		if (status <= 0)
			break;
		fill->established = clock_now();
		fill->admitted++;
		status = 0;
	}
	error = errno;
	if (status < 0)
		return -1;
	if (fill->admitted == first + count)
		return 1;
	for (size_t i = fill->admitted + 1; i < first + count; i++) {
		backlog_reset(fill->fds[i]);
		fill->fds[i] = -1;
	}
	fill->seen[error == ECONNRESET ? RESET : SILENT]++;
	return 0;
}

/* The client that found no place: drain the queue and see when it gets in. */
static int
tcp_next(struct fill *fill, struct err *err)
{
	struct backlog_client *client = fill->client;
	int fd = fill->fds[fill->admitted];
	int64_t retransmits;

	clock_sleep_until(fill->next_start + client->options->hold);
	if (ask_drain(fill, err) < 0)
		return -1;
	if (tcp_connect(fd, &client->peer, &client->wait, err) < 0) {
		if (!tcp_lost(errno))
			return -1;
		fill->next_end = fill->got_in = 0;
		return 0;
	}
	fill->next_end = fill->got_in = clock_now();
	if (tcp_retransmits(fd, &retransmits, err) < 0)
		return -1;
	fill->syn_retransmits += retransmits;
	return 0;
}

/* Has the peer acknowledged all that was sent? 1, 0, or -1 when the connection was lost. */
static int
acknowledged(int fd, struct err *err)
{
	struct tcp_info info;
	char byte;

	if (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno != EAGAIN)
		return err_sys(err, "a connection that was established");
	if (tcp_read_info(fd, &info, err) < 0)
		return -1;
	return info.tcpi_unacked == 0;
}

/* Look every millisecond, which is short against what is waited for, a retransmission. */
static int
await_acknowledged(const struct fill *fill, int fd, struct err *err)
{
	int status;

	while ((status = acknowledged(fd, err)) == 0) {
		if (clock_now() >= fill->client->call->deadline_ns) {
			errno = ETIME;
			return err_set(err, "a byte was not acknowledged before the deadline");
		}
		clock_sleep_until(clock_now() + NS_PER_MS);
	}
	return status < 0 ? -1 : 0;
}

/* The loser of a race that believes itself connected: its byte is acknowledged once the server
 * has it, too. */
static int
believer_next(struct fill *fill, struct err *err)
{
	int fd = fill->fds[fill->admitted - 1];

	fill->believed++;
	fill->next_end = fill->established;
	if (tcp_send(fd, "", 1, &fill->client->wait, err) < 0 && !tcp_lost(errno))
		return -1;
	clock_sleep_until(fill->next_start + fill->client->options->hold);
	if (ask_drain(fill, err) < 0)
		return -1;
	fill->got_in = 0;
	if (await_acknowledged(fill, fd, err) == 0) {
		fill->got_in = clock_now();
		return 0;
	}
	if (!tcp_lost(errno))
		return -1;
	fill->seen[RESET] += errno == ECONNRESET;
	return 0;
}

/* ---- both ---- */

static void
make_room(struct fill *fill)
{
	size_t old = fill->cap, cap = (size_t)fill->client->backlog + SPARE + WAVE;

	if (cap <= old)
		return;
	fill->fds = alloc_resize(fill->fds, cap, sizeof(*fill->fds));
	for (size_t i = old; i < cap; i++)
		fill->fds[i] = -1;
	fill->cap = cap;
}

static int
fill_up(struct fill *fill, struct err *err)
{
	struct backlog_client *client = fill->client;
	int64_t patience = PATIENCE_RTTS * client->rtt_ns;
	int status;

	if (patience < PATIENCE_NS)
		patience = PATIENCE_NS;
	fill->admitted = 0;
	do {
		if (fill->admitted > (size_t)client->backlog + SPARE)
			return err_set(err,
				"a backlog of %lld admitted %zu connections and more",
				(long long)client->backlog, fill->admitted);
		status = client->options->socket == BACKLOG_UNIX ? local_step(fill, err)
								 : wave(fill, patience, err);
		if (status == 1 && client->options->pattern == BACKLOG_RACE &&
			fill->admitted == (size_t)client->backlog + 2)
			return 0;
	} while (status == 1);
	return status == -1 ? backlog_limit(errno, fill->admitted, err) : status;
}

static void
take_samples(struct fill *fill)
{
	fill->admitted_of[fill->count++] = (int64_t)fill->admitted;
	if (fill->next_end)
		fill->next_ns[fill->next_count++] = fill->next_end - fill->next_start;
	/* In before the queue was drained: no time at all after it. */
	if (fill->got_in)
		fill->after_ns[fill->after_count++] = fill->got_in > fill->drained
							      ? fill->got_in - fill->drained
							      : 0;
}

static int
see_next(struct fill *fill, struct err *err)
{
	if (fill->client->options->socket == BACKLOG_UNIX)
		return local_next(fill, err);
	/* Two for one place, and both were answered. */
	if (fill->admitted == (size_t)fill->client->backlog + 2)
		return believer_next(fill, err);
	return tcp_next(fill, err);
}

static int
trial(struct fill *fill, struct err *err)
{
	int status;

	if (backlog_open(fill->client, err) < 0)
		return -1;
	make_room(fill);
	status = fill_up(fill, err);
	if (status == 0)
		status = see_next(fill, err);
	if (status == 0)
		take_samples(fill);
	for (size_t i = 0; i < fill->cap; i++) {
		backlog_reset(fill->fds[i]);
		fill->fds[i] = -1;
	}
	return status ? status : backlog_close(fill->client, err);
}

static void
print(const struct fill *fill)
{
	for (size_t i = 0; i < fill->count; i++)
		record_sample(stdout, "admitted", RECORD_COUNT_UNIT, fill->admitted_of[i]);
	probe_samples("next_connect", fill->next_ns, fill->next_count);
	probe_samples("after_drain", fill->after_ns, fill->after_count);
	record_count(stdout, "next_connect_errors", (int64_t)(fill->count - fill->next_count));
	record_count(stdout, "after_drain_errors", (int64_t)(fill->count - fill->after_count));
	if (fill->client->options->socket == BACKLOG_UNIX) {
		probe_samples("refusal", fill->refusal_ns, fill->refusal_count);
		record_count(stdout, "again", fill->seen[AGAIN]);
		return;
	}
	record_count(stdout, "silent", fill->seen[SILENT]);
	if (fill->client->options->pattern == BACKLOG_RACE)
		record_count(stdout, "believed", fill->believed);
	record_count(stdout, "resets", fill->seen[RESET]);
	record_count(stdout, "syn_retransmits", fill->syn_retransmits);
}

int
backlog_fill(struct backlog_client *client, struct err *err)
{
	size_t samples = (size_t)client->call->samples;
	struct fill fill = {
		.client = client,
		.admitted_of = alloc_zero(samples, sizeof(int64_t)),
		.next_ns = alloc_zero(samples, sizeof(int64_t)),
		.after_ns = alloc_zero(samples, sizeof(int64_t)),
		.refusal_ns = alloc_zero(samples, sizeof(int64_t)),
	};
	int status = 0;

	while (status == 0 && fill.count < samples)
		status = trial(&fill, err);
	if (status == 0 && !fill.next_count)
		status = err_prefix(
			err, "no client got in after the queue was drained, the last");
	if (status == 0)
		print(&fill);
	free(fill.fds);
	free(fill.admitted_of);
	free(fill.next_ns);
	free(fill.after_ns);
	free(fill.refusal_ns);
	return status;
}
