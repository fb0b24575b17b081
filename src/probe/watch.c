/* Who looks, how often, and what is made of it. */
#include "probe/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "stat/record.h"

#define SETTLE_NS (2 * NS_PER_S)
#define LOOK_SHARE 9 /* so many times as long as a look took, none is taken */

/* In the order a connection goes through them. `ends`: a bit for each end that can be in it. */
static const struct {
	int state;
	unsigned ends;
	const char *name, *heading;
} states[] = {
	{TCP_SYN_SENT, 1U << WATCH_CLIENT, "syn_sent", "SYN-SENT"},
	{TCP_SYN_RECV, 1U << WATCH_SERVER, "syn_recv", "SYN-RECV"},
	{TCP_ESTABLISHED, 3, "established", "ESTAB"},
	{TCP_FIN_WAIT1, 3, "fin_wait1", "FIN-WAIT1"},
	{TCP_FIN_WAIT2, 3, "fin_wait2", "FIN-WAIT2"},
	{TCP_CLOSING, 3, "closing", "CLOSING"},
	{TCP_TIME_WAIT, 3, "time_wait", "TIME-WAIT"},
	{TCP_CLOSE_WAIT, 3, "close_wait", "CLOSE-WAIT"},
	{TCP_LAST_ACK, 3, "last_ack", "LAST-ACK"},
};

#define STATES (sizeof(states) / sizeof(*states))

static const char *
end_name(const struct watch *watch)
{
	return watch->end == WATCH_SERVER ? "server" : "client";
}

static void
show(const struct watch *watch)
{
	if (watch->looks == 0) {
		fprintf(stderr, "%-6s %10s", "end", "ms");
		for (size_t i = 0; i < STATES; i++)
			fprintf(stderr, " %10s", states[i].heading);
		fputc('\n', stderr);
	}
	fprintf(stderr, "%-6s %10.1f", end_name(watch),
		(double)(clock_now() - watch->start_ns) / (double)NS_PER_MS);
	for (size_t i = 0; i < STATES; i++)
		fprintf(stderr, " %10" PRId64, watch->now[states[i].state]);
	fputc('\n', stderr);
}

/* Of a census, what this end has; the same as before? */
static bool
take(struct watch *watch, const struct census *census)
{
	bool same = watch->looks > 0;

	for (int state = 0; state < CENSUS_STATES; state++) {
		int64_t count = census->server[state];

		if (watch->end == WATCH_CLIENT)
			count = census->sockets[state] - count;
		same = same && watch->now[state] == count;
		watch->now[state] = count;
		if (count > watch->peak[state])
			watch->peak[state] = count;
	}
	return same;
}

static int
look(struct watch *watch, struct err *err)
{
	struct census census;
	int64_t now;
	bool same;

	if (census_take(&watch->server, &census, err) < 0)
		return -1;
	now = clock_now();
	same = take(watch, &census);
	watch->source = census.source;
	if (census_open(watch->now)) {
		watch->open_ns = now;
		watch->empty_ns = 0;
	} else if (watch->now[TCP_TIME_WAIT]) {
		watch->empty_ns = 0;
	} else if (!watch->empty_ns) {
		watch->empty_ns = now;
	}
	if (watch->show && !same)
		show(watch);
	watch->looks++;
	return 0;
}

/* Wait for the time of the next look, or for the end. */
static void
pause_from(struct watch *watch, int64_t start_ns)
{
	int64_t took = clock_now() - start_ns, until;
	struct timespec at;

	until = start_ns + took +
		(took * LOOK_SHARE > watch->every_ns ? took * LOOK_SHARE : watch->every_ns);
	at.tv_sec = until / NS_PER_S;
	at.tv_nsec = until % NS_PER_S;
	while (!watch->stopping && clock_now() < until)
		pthread_cond_timedwait(&watch->wake, &watch->mutex, &at);
}

static void *
watch_thread(void *data)
{
	struct watch *watch = data;

	pthread_mutex_lock(&watch->mutex);
	while (!watch->stopping && !watch->failed) {
		int64_t start_ns = clock_now();

		watch->failed = look(watch, &watch->why) < 0;
		pause_from(watch, start_ns);
	}
	pthread_mutex_unlock(&watch->mutex);
	return NULL;
}

int
watch_start(struct watch *watch, const struct addr *server, struct err *err)
{
	pthread_condattr_t attr;

	watch->server = *server;
	watch->start_ns = watch->open_ns = clock_now();
	if (census_time_wait_entered(&watch->entered, err) < 0)
		return -1;
	pthread_mutex_init(&watch->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (thread_start(&watch->thread, watch_thread, watch, err) < 0)
		return err_prefix(err, "watch the sockets");
	watch->started = true;
	return 0;
}

int
watch_look(struct watch *watch, struct err *err)
{
	int status;

	pthread_mutex_lock(&watch->mutex);
	status = look(watch, err);
	pthread_mutex_unlock(&watch->mutex);
	return status;
}

/* Look until there is nothing but LISTEN and TIME_WAIT or, where they count, nothing at all. */
static int
look_until(struct watch *watch, int64_t until, bool waiting_count, struct err *err)
{
	for (;;) {
		int64_t start_ns = clock_now(), left;

		pthread_mutex_lock(&watch->mutex);
		if (look(watch, err) < 0) {
			pthread_mutex_unlock(&watch->mutex);
			return -1;
		}
		left = census_open(watch->now) +
		       (waiting_count ? watch->now[TCP_TIME_WAIT] : 0);
		if (left && start_ns < until)
			pause_from(watch, start_ns);
		pthread_mutex_unlock(&watch->mutex);
		if (!left || start_ns >= until)
			return 0;
	}
}

int
watch_drain(
	struct watch *watch, int64_t drain_ns, bool all, int64_t deadline_ns, struct err *err)
{
	int64_t now = clock_now(), settled = now + SETTLE_NS, drained = now + drain_ns;

	if (look_until(watch, settled < deadline_ns ? settled : deadline_ns, false, err) < 0)
		return -1;
	if (drained > deadline_ns) {
		errno = ETIME;
		return err_set(
			err, "the sockets cannot be watched for that long before the deadline");
	}
	if (drain_ns && look_until(watch, drained, true, err) < 0)
		return -1;
	if (drain_ns && all)
		while (clock_now() < drained && clock_sleep_until(drained) < 0)
			;
	return 0;
}

int
watch_stop(struct watch *watch, struct err *err)
{
	int64_t before = watch->entered;

	if (!watch->started)
		return 0;
	pthread_mutex_lock(&watch->mutex);
	watch->stopping = true;
	pthread_cond_signal(&watch->wake);
	pthread_mutex_unlock(&watch->mutex);
	pthread_join(watch->thread, NULL);
	pthread_cond_destroy(&watch->wake);
	pthread_mutex_destroy(&watch->mutex);
	watch->started = false;
	if (watch->failed)
		return err_set(err, "%s", watch->why.text);
	if (look(watch, err) < 0 || census_time_wait_entered(&watch->entered, err) < 0)
		return -1;
	watch->entered -= before;
	return 0;
}

static void
count(const struct watch *watch, const char *prefix, const char *name, int64_t value)
{
	char full[48];

	snprintf(full, sizeof(full), "%s%s%s", watch->end == WATCH_SERVER ? "server_" : "",
		prefix, name);
	record_count(stdout, full, value);
}

void
watch_print(const struct watch *watch)
{
	for (size_t i = 0; i < STATES; i++)
		if (states[i].ends & 1U << watch->end)
			count(watch, "peak_", states[i].name, watch->peak[states[i].state]);
	count(watch, "", "time_wait", watch->now[TCP_TIME_WAIT]);
	count(watch, "", "time_wait_entered", watch->entered);
	count(watch, "", "left_open", census_open(watch->now));
	if (watch->peak[TCP_TIME_WAIT] && watch->empty_ns)
		count(watch, "", "drained_ms", (watch->empty_ns - watch->open_ns) / NS_PER_MS);
}
