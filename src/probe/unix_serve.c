/* The serving half of the probe unix: a thread serves each channel with nothing but what
 * channel.c calls, as its client does, so that neither half waits in a way of its own. */
#include "probe/unix.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "net/tcp.h"
#include "probe/channel.h"

#define BACKLOG 128
/* Stays in a core's cache: reads of 128 KiB move a fifth less. */
#define TCP_READ_SIZE (1 << 16)

/* Threads go on using it while the process ends. */
static struct serving {
	struct unix_options options;
	struct local_path path;
	struct wait wait;
	atomic_llong messages, bytes, waits;
} serving;

struct session {
	struct channel channel;
	char *buffer;
	struct cpu_switches before;
};

static void
add_waits(const struct session *session)
{
	struct cpu_switches sum = {0};

	cpu_switches_add(&session->before, &sum);
	atomic_fetch_add(&serving.waits, sum.waits);
}

/* All of a message is here; the client still waits for the reply. True at the end. */
static bool
take_note(struct session *session)
{
	switch (*session->buffer) {
	case UNIX_WARM_UP:
		cpu_switches(&session->before);
		return false;
	case UNIX_MEASURED:
		atomic_fetch_add(&serving.messages, 1);
		return false;
	default:
		add_waits(session);
		return true;
	}
}

/* One message and its echo. True when there is more to come. */
static bool
echo(struct session *session)
{
	size_t size = (size_t)serving.options.size, have = 0, back = 0;
	bool parts = serving.options.echo == ECHO_PARTS, ended = false;

	while (have < size) {
		ssize_t got = channel_receive(
			&session->channel, session->buffer + have, size - have, NULL);

		if (got <= 0)
			return false;
		have += (size_t)got;
		if (have == size)
			ended = take_note(session);
		if (!parts && have < size)
			continue;
		if (channel_send(&session->channel, session->buffer + back, have - back, NULL) <
			0)
			return false;
		back = have;
	}
	return !ended;
}

/* Of bulk. A message of a socket that keeps their bounds has to be read whole. */
static size_t
read_size(void)
{
	size_t size = (size_t)serving.options.size;

	return serving.options.path == WAY_TCP && size > TCP_READ_SIZE ? TCP_READ_SIZE : size;
}

/* One sample of bulk and the byte that confirms it. */
static bool
swallow(struct session *session)
{
	size_t most = read_size();
	int64_t left = serving.options.bytes;

	while (left > 0) {
		size_t room = left < (int64_t)most ? (size_t)left : most;
		ssize_t got = channel_receive(&session->channel, session->buffer, room, NULL);

		if (got <= 0)
			return false;
		left -= got;
		atomic_fetch_add(&serving.bytes, got);
	}
	add_waits(session);
	cpu_switches(&session->before);
	return channel_send(&session->channel, session->buffer, 1, NULL) == 0;
}

static void *
session_main(void *argument)
{
	struct session *session = argument;
	bool (*serve_one)(struct session *) = serving.options.pattern == BULK ? swallow : echo;

	cpu_switches(&session->before);
	while (serve_one(session))
		;
	channel_close(&session->channel);
	free(session->buffer);
	free(session);
	return NULL;
}

static int
open_session(int fd, struct err *err)
{
	struct session *session = alloc_zero(1, sizeof(*session));
	pthread_t thread;
	int status = local_path_accept(
		&serving.path, fd, &serving.wait, &session->channel, err);

	if (status) {
		free(session);
		return status < 0 ? -1 : 0;
	}
	session->buffer = alloc_zero(1, (size_t)serving.options.size);
	if (thread_start(&thread, session_main, session, err) == 0) {
		pthread_detach(thread);
		return 0;
	}
	err_prefix(err, "a connection");
	channel_close(&session->channel);
	free(session->buffer);
	free(session);
	return -1;
}

static int
accept_all(int listener, struct err *err)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0 && open_session(fd, err) < 0)
			return -1;
		if (fd < 0 && errno == EAGAIN)
			return 0;
		if (fd < 0 && errno == EMFILE)
			return err_set(err, "accept: too many open files in this process: "
					    "raise ulimit -n");
		if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
			return err_sys(err, "accept");
	}
}

static int
accept_until_stopped(const struct probe_call *call, int listener, struct err *err)
{
	struct pollfd items[] = {
		{.fd = call->stop_fd, .events = POLLIN},
		{.fd = listener, .events = POLLIN},
	};

	while (clock_now() < call->deadline_ns) {
		if (poll(items, 2, clock_poll_ms(call->deadline_ns)) < 0 && errno != EINTR)
			return err_sys(err, "poll");
		if (items[0].revents)
			return 0;
		if (items[1].revents && accept_all(listener, err) < 0)
			return -1;
	}
	return err_set(err, "serve: not stopped before the deadline");
}

static void
print_counts(const struct unix_options *options)
{
	if (options->pattern == BULK)
		record_count(stdout, "server_bytes", atomic_load(&serving.bytes));
	else
		record_count(stdout, "messages", atomic_load(&serving.messages));
	record_count(stdout, "server_waits", atomic_load(&serving.waits));
}

static int
serve_on(const struct probe_call *call, int tcp, const struct addr *bound, struct err *err)
{
	const struct unix_options *options = call->options;
	bool beside = options->path != WAY_TCP;
	int listener = beside ? local_path_listen(&serving.path, bound, err) : tcp;
	int status;

	if (listener < 0)
		return -1;
	probe_ready(bound);
	status = accept_until_stopped(call, listener, err);
	if (beside)
		close(listener);
	if (options->file)
		unlink(options->file);
	if (status == 0)
		print_counts(options);
	return status;
}

int
unix_serve(const struct probe_call *call, struct err *err)
{
	const struct unix_options *options = call->options;
	struct addr bound;
	int status, tcp;

	serving.options = *options;
	serving.path = unix_path(options);
	serving.wait = (struct wait){(enum wait_how)options->placement.wait, call->deadline_ns};
	status = placement_apply(&options->placement, CPU_SERVER, err);
	if (status)
		return status;
	if (!local_path_takes(&serving.path, options->size, err))
		return PROBE_UNSUPPORTED;
	tcp = tcp_listen(&call->addr, BACKLOG, &bound, err);
	if (tcp < 0)
		return probe_not_listening(call);
	probe_raise_files();
	status = serve_on(call, tcp, &bound, err);
	close(tcp);
	return status;
}
