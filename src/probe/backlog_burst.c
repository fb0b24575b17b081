/* pattern=burst: as many clients at once as samples, each of which sends a byte once it is
 * connected and waits for the byte that the server sends when it accepts. */
#include "probe/backlog.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/tcp.h"

#define EVENTS 64

struct guest {
	int fd;
	int64_t start, connected, served; /* 0: not yet, or never */
};

struct burst {
	struct backlog_client *client;
	struct guest *guests;
	size_t count, open;
	int epoll_fd;
	int64_t resets, syn_retransmits, retransmits;
};

static void
leave(struct burst *burst, struct guest *guest)
{
	backlog_reset(guest->fd);
	guest->fd = -1;
	burst->open--;
}

/* What the path or a full queue does is a loss; anything else ends the run. */
static int
lose(struct burst *burst, struct guest *guest)
{
	int error = errno;

	burst->resets += error == ECONNRESET;
	leave(burst, guest);
	errno = error;
	return tcp_lost(error) || error == ECONNREFUSED ? 0 : -1;
}

static int
be_connected(struct burst *burst, struct guest *guest, struct err *err)
{
	int64_t now = clock_now(), again;

	if (tcp_connect_end(guest->fd, err) < 0)
		return lose(burst, guest);
	guest->connected = now;
	if (tcp_retransmits(guest->fd, &again, err) < 0)
		return -1;
	burst->syn_retransmits += again;
	if (tcp_send(guest->fd, "", 1, &burst->client->wait, err) < 0)
		return lose(burst, guest);
	return 0;
}

static int
be_served(struct burst *burst, struct guest *guest, struct err *err)
{
	int64_t again;
	char byte;

	/* Readable, or in error: the deadline is not reached. */
	if (tcp_receive_all(guest->fd, &byte, 1, &burst->client->wait, err) < 0)
		return lose(burst, guest);
	guest->served = clock_now();
	if (tcp_retransmits(guest->fd, &again, err) < 0)
		return -1;
	burst->retransmits += again;
	leave(burst, guest);
	return 0;
}

static int
handle(struct burst *burst, struct guest *guest, uint32_t events, struct err *err)
{
	const uint32_t over = EPOLLERR | EPOLLHUP;

	if (!guest->connected && be_connected(burst, guest, err) < 0)
		return -1;
	if (guest->fd >= 0 && events & (EPOLLIN | over))
		return be_served(burst, guest, err);
	return 0;
}

/* See to what has happened; wait for something to happen for `timeout` ms at most. */
static int
turn(struct burst *burst, int timeout, struct err *err)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(burst->epoll_fd, events, EVENTS, timeout);

	if (count < 0 && errno != EINTR)
		return err_sys(err, "epoll_wait");
	for (int i = 0; i < count; i++)
		if (handle(burst, events[i].data.ptr, events[i].events, err) < 0)
			return -1;
	return 0;
}

static int
come(struct burst *burst, struct guest *guest, struct err *err)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLET,
		.data.ptr = guest,
	};

	guest->start = clock_now();
	if (tcp_connect_start(guest->fd, &burst->client->peer, err) < 0)
		return -1;
	if (epoll_ctl(burst->epoll_fd, EPOLL_CTL_ADD, guest->fd, &event) < 0)
		return err_sys(err, "watch a connection");
	return 0;
}

static int
open_guests(struct burst *burst, struct err *err)
{
	int family = addr_family(&burst->client->peer);

	while (burst->open < burst->count) {
		int fd = tcp_socket(family, WAIT_POLL, err);

		if (fd < 0)
			return backlog_limit(errno, burst->open, err);
		burst->guests[burst->open++].fd = fd;
	}
	return 0;
}

/* All come as fast as one thread can have them; whoever is answered meanwhile is seen to. */
static int
let_come(struct burst *burst, struct err *err)
{
	const struct wait *wait = &burst->client->wait;

	for (size_t i = 0; i < burst->count; i++)
		if (come(burst, &burst->guests[i], err) < 0)
			return backlog_limit(errno, i, err);
		else if (turn(burst, 0, err) < 0)
			return -1;
	while (burst->open > 0) {
		if (clock_now() >= wait->deadline_ns)
			return err_set(err, "%zu of %zu clients were not served", burst->open,
				burst->count);
		if (turn(burst, wait->how == WAIT_SPIN ? 0 : clock_poll_ms(wait->deadline_ns),
			    err) < 0)
			return -1;
	}
	return 0;
}

static void
print(const struct burst *burst)
{
	int64_t unconnected = 0, unserved = 0;

	for (size_t i = 0; i < burst->count; i++) {
		const struct guest *guest = &burst->guests[i];

		unconnected += !guest->connected;
		unserved += !guest->served;
		if (guest->connected)
			record_sample(
				stdout, "connect", RECORD_NS, guest->connected - guest->start);
		if (guest->served)
			record_sample(
				stdout, "served", RECORD_NS, guest->served - guest->start);
	}
	record_count(stdout, "connect_errors", unconnected);
	record_count(stdout, "served_errors", unserved);
	record_count(stdout, "resets", burst->resets);
	record_count(stdout, "syn_retransmits", burst->syn_retransmits);
	record_count(stdout, "retransmits", burst->retransmits);
}

static int
measure(struct burst *burst, struct err *err)
{
	int64_t numbers[BACKLOG_NUMBERS];
	size_t served = 0;

	if (open_guests(burst, err) < 0 ||
		backlog_ask(burst->client, BACKLOG_PACE, numbers, err) < 0 ||
		let_come(burst, err) < 0)
		return -1;
	for (size_t i = 0; i < burst->count; i++)
		served += burst->guests[i].served != 0;
	/* If the server could not accept, it says so now. */
	if (backlog_close(burst->client, err) < 0)
		return -1;
	return served ? 0 : err_set(err, "none of %zu clients was served", burst->count);
}

int
backlog_burst(struct backlog_client *client, struct err *err)
{
	size_t count = (size_t)client->call->samples;
	struct burst burst = {
		.client = client,
		.guests = alloc_zero(count, sizeof(*burst.guests)),
		.count = count,
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
	};
	int status;

	for (size_t i = 0; i < count; i++)
		burst.guests[i].fd = -1;
	status = burst.epoll_fd < 0 ? err_sys(err, "epoll") : backlog_open(client, err);
	if (status == 0)
		status = measure(&burst, err);
	if (status == 0)
		print(&burst);
	for (size_t i = 0; i < count; i++)
		backlog_reset(burst.guests[i].fd);
	if (burst.epoll_fd >= 0)
		close(burst.epoll_fd);
	free(burst.guests);
	return status;
}
