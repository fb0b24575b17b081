/* Numbered datagrams both ways over a link, by a program that shares no measuring code with the
 * link: which arrived, in what order, how often, after how long, and which had a bit flipped.
 *
 *   sent up 1000            how many left, and by when the last one did after the first
 *   got up 17 25031244      number 17 arrived after so many ns, in order of arrival
 *   bad up 18 25030112      it did, but not as it was sent; -1 when even its number is gone
 *
 * A delay runs from before send() to the kernel's stamp of arrival, so how late this process
 * wakes is no part of it. Datagrams have no checksum: what is corrupted arrives to be counted.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/opts.h"
#include "link/ends.h"
#include "link/space.h"

#define SIZE_MIN 32
#define SIZE_MAX_BYTES 1472
#define BUFFER_BYTES (64 << 20)
#define LOOKS 10
#define COPIES 4 /* arrivals to have memory for, a datagram */

struct args {
	const char *where[ENDS];
	int64_t count, interval_ns, size, drain_ns;
};

#define AT(member) offsetof(struct args, member)

static const struct opt options[] = {
	{"near", OPT_TEXT, AT(where[NEAR]), NULL, "NSPATH", 0, 0, "client's namespace"},
	{"far", OPT_TEXT, AT(where[FAR]), NULL, "NSPATH", 0, 0, "server's namespace"},
	{"count", OPT_COUNT, AT(count), "1000", NULL, 1, 1000000, "datagrams each way"},
	{"interval", OPT_DURATION, AT(interval_ns), "1ms", NULL, 0, 0,
		"from one to the next; 0ms: a burst"},
	{"size", OPT_COUNT, AT(size), "64", NULL, SIZE_MIN, SIZE_MAX_BYTES, "bytes of each"},
	{"drain", OPT_DURATION, AT(drain_ns), "1s", NULL, 1, 0,
		"it ends after so long a quiet"},
	{0},
};

/* The number stands there twice, so that one flipped bit cannot turn it into another. */
struct message {
	int64_t number;
	int64_t again;
	unsigned char pattern[SIZE_MAX_BYTES - 16];
};

struct arrival {
	int64_t number;
	int64_t delay_ns;
	bool bad;
};

/* What one end sends, and what of it arrives at the other. */
struct path {
	const char *name;
	int from, to;
	int64_t *sent_ns;
	int64_t sent, refused;
	struct arrival *arrivals;
	int64_t arrived;
};

struct run {
	struct args args;
	struct path paths[ENDS];
	struct message message; /* as sent, but for its number */
};

/* The clock of the kernel's stamps. */
static int64_t
stamp_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int
open_end(const char *where, enum end end, struct err *err)
{
	struct sockaddr_storage address;
	socklen_t len = end_sockaddr(&end_addresses[end], AF_INET, 0, &address);
	struct space space;
	int fd, on = 1, bytes = BUFFER_BYTES;

	if (space_open(where, clock_now() + NS_PER_S, &space, err) < 0)
		return -1;
	fd = space_socket(&space, AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0, err);
	space_close(&space);
	if (fd < 0)
		return -1;
	if (bind(fd, (void *)&address, len) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)) < 0) {
		err_sys(err, "a socket at the %s end", end_addresses[end].name);
		close(fd);
		return -1;
	}
	/* As much as we may have: only root may have all of it. */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	return fd;
}

static int
join(int from, int to, struct err *err)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	if (getsockname(to, (void *)&peer, &len) < 0 || connect(from, (void *)&peer, len) < 0)
		return err_sys(err, "connect the two ends");
	return 0;
}

static void
send_one(struct run *run, struct path *path)
{
	run->message.number = run->message.again = path->sent;
	path->sent_ns[path->sent++] = stamp_now();
	if (send(path->from, &run->message, (size_t)run->args.size, 0) < 0)
		path->refused++;
}

/* The kernel's stamp of a received datagram; now, if it has none. */
static int64_t
stamp_of(struct msghdr *header)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec stamp;

			memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
			return stamp.tv_sec * NS_PER_S + stamp.tv_nsec;
		}
	return stamp_now();
}

static void
note(const struct run *run, struct path *path, const struct message *message, ssize_t len,
	int64_t stamp_ns)
{
	struct arrival *arrival = &path->arrivals[path->arrived++];
	bool known = len >= SIZE_MIN && message->number == message->again &&
		     message->number >= 0 && message->number < path->sent;

	arrival->number = known ? message->number : -1;
	arrival->delay_ns = known ? stamp_ns - path->sent_ns[message->number] : 0;
	arrival->bad = !known || len != run->args.size ||
		       memcmp(message->pattern, run->message.pattern, (size_t)len - 16) != 0;
}

/* Take what has arrived. Returns whether anything has. */
static bool
receive(const struct run *run, struct path *path)
{
	int64_t before = path->arrived, room = COPIES * run->args.count;

	while (path->arrived < room) {
		struct message message;
		char control[128];
		struct iovec iov = {&message, sizeof(message)};
		struct msghdr header = {.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control)};
		ssize_t len = recvmsg(path->to, &header, 0);

		if (len < 0)
			break;
		note(run, path, &message, len, stamp_of(&header));
	}
	return path->arrived > before;
}

static void
wait_until(const struct run *run, int64_t wake_ns)
{
	struct pollfd fds[ENDS];
	int64_t left_ns = wake_ns - clock_now();
	struct timespec timeout;

	if (left_ns <= 0)
		return;
	for (enum end end = NEAR; end < ENDS; end++)
		fds[end] = (struct pollfd){run->paths[end].to, POLLIN, 0};
	timeout.tv_sec = (time_t)(left_ns / NS_PER_S);
	timeout.tv_nsec = (long)(left_ns % NS_PER_S);
	ppoll(fds, ENDS, &timeout, NULL);
}

static bool
receive_all(struct run *run)
{
	bool up = receive(run, &run->paths[NEAR]), down = receive(run, &run->paths[FAR]);

	return up || down;
}

/* Send on schedule, both ways together, and take what comes meanwhile. */
static void
send_all(struct run *run)
{
	int64_t next_ns = clock_now();

	for (int64_t left = run->args.count; left > 0;) {
		if (clock_now() >= next_ns) {
			for (enum end end = NEAR; end < ENDS; end++)
				send_one(run, &run->paths[end]);
			next_ns += run->args.interval_ns;
			left--;
		}
		receive_all(run);
		if (left > 0)
			wait_until(run, next_ns);
	}
}

/* Take what comes until it has been quiet for as long as `drain`: for several looks in a row,
 * because a machine that stands still passes the time without having delivered anything. */
static void
drain(struct run *run)
{
	for (int quiet = 0; quiet < LOOKS; quiet++) {
		wait_until(run, clock_now() + run->args.drain_ns / LOOKS);
		if (receive_all(run))
			quiet = -1;
	}
}

static void
print(const struct path *path)
{
	int64_t last = path->sent - 1;

	printf("sent %s %" PRId64 " %" PRId64 "\n", path->name, path->sent - path->refused,
		path->sent_ns[last] - path->sent_ns[0]);
	for (int64_t i = 0; i < path->arrived; i++)
		printf("%s %s %" PRId64 " %" PRId64 "\n", path->arrivals[i].bad ? "bad" : "got",
			path->name, path->arrivals[i].number, path->arrivals[i].delay_ns);
}

static int
set_up(struct run *run, struct err *err)
{
	static const char *const names[ENDS] = {[NEAR] = "up", [FAR] = "down"};
	size_t count = (size_t)run->args.count;
	int fds[ENDS];

	for (enum end end = NEAR; end < ENDS; end++) {
		fds[end] = open_end(run->args.where[end], end, err);
		if (fds[end] < 0)
			return -1;
	}
	for (enum end end = NEAR; end < ENDS; end++) {
		if (join(fds[end], fds[!end], err) < 0)
			return -1;
		run->paths[end] = (struct path){
			.name = names[end],
			.from = fds[end],
			.to = fds[!end],
			.sent_ns = alloc_zero(count, sizeof(int64_t)),
			.arrivals = alloc_zero(COPIES * count, sizeof(struct arrival)),
		};
	}
	for (size_t i = 0; i < sizeof(run->message.pattern); i++)
		run->message.pattern[i] = (unsigned char)(i * 37);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct run run;
	struct err err;
	int operands;

	opts_defaults(options, &run.args);
	if (opts_parse(options, &run.args, argc, argv, &operands, &err) < 0 || operands ||
		!run.args.where[NEAR] || !run.args.where[FAR]) {
		fprintf(stderr, "usage: datagrams --near NSPATH --far NSPATH [OPTIONS]\n");
		opts_usage(options, "--", stderr);
		return 2;
	}
	if (set_up(&run, &err) < 0) {
		fprintf(stderr, "datagrams: %s\n", err.text);
		return 1;
	}
	send_all(&run);
	drain(&run);
	for (enum end end = NEAR; end < ENDS; end++)
		print(&run.paths[end]);
	return fflush(stdout) == 0 ? 0 : 1;
}
