/* Two descriptors between two processes: recv() and send() for sockets, as who measures sockets
 * calls them, read() and write() for pipes. */
#include "probe/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"

#define SPINS 64 /* microseconds: the deadline waits for no more */
#define LOOK_S 1 /* so often is an idle channel of datagrams asked for its peer */

static int
fail(struct err *err, const char *what)
{
	if (errno == ETIME)
		return err_set(err, "%s: no answer before the deadline", what);
	return err_sys(err, "%s", what);
}

static int
set_blocking(int fd, enum wait_how how)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -1;
	flags = how == WAIT_BLOCK ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags);
}

int
channel_start(struct channel *channel, int in, int out, int control, const struct wait *wait,
	struct err *err)
{
	const struct timeval look = {.tv_sec = LOOK_S};

	*channel = (struct channel){.in = in, .out = out, .control = control, .wait = *wait};
	if (set_blocking(in, wait->how) == 0 && set_blocking(out, wait->how) == 0 &&
		(control < 0 ||
			setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof(look)) == 0))
		return 0;
	err_sys(err, "set how a channel waits");
	channel_close(channel);
	return -1;
}

/* The other side closed its control connection, or broke it off. */
static int
is_alone(const struct channel *channel)
{
	char byte;
	ssize_t got = recv(channel->control, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/* As wait_again(), and no longer than there is a peer. */
static int
again(struct channel *channel, int fd, short events)
{
	if (errno != EAGAIN && errno != EINTR)
		return -1;
	if (channel->wait.how == WAIT_SPIN && ++channel->spins % SPINS)
		return 0;
	if (channel->control >= 0 && clock_now() >= channel->look_ns) {
		channel->look_ns = clock_now() + LOOK_S * NS_PER_S;
		if (is_alone(channel)) {
			errno = ECONNRESET;
			return -1;
		}
	}
	return wait_again(fd, events, &channel->wait);
}

static bool
is_socket(const struct channel *channel)
{
	return channel->in == channel->out;
}

int
channel_send(struct channel *channel, const void *bytes, size_t len, struct err *err)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t sent = is_socket(channel) ? send(channel->out, at, len, MSG_NOSIGNAL)
						  : write(channel->out, at, len);

		if (sent < 0) {
			if (again(channel, channel->out, POLLOUT) < 0)
				return fail(err, "send");
			continue;
		}
		at += sent;
		len -= (size_t)sent;
	}
	return 0;
}

ssize_t
channel_receive(struct channel *channel, void *bytes, size_t len, struct err *err)
{
	for (;;) {
		ssize_t got = is_socket(channel) ? recv(channel->in, bytes, len, 0)
						 : read(channel->in, bytes, len);

		if (got >= 0)
			return got;
		if (again(channel, channel->in, POLLIN) < 0)
			return fail(err, "receive");
	}
}

int
channel_receive_all(struct channel *channel, void *bytes, size_t len, struct err *err)
{
	size_t have = 0;

	while (have < len) {
		ssize_t got = channel_receive(channel, (char *)bytes + have, len - have, err);

		if (got < 0)
			return -1;
		if (got == 0) {
			errno = ECONNRESET;
			return err_set(err, "receive: the peer closed after %zu of %zu bytes",
				have, len);
		}
		have += (size_t)got;
	}
	return 0;
}

void
channel_close(struct channel *channel)
{
	if (channel->in >= 0)
		close(channel->in);
	if (channel->out >= 0 && channel->out != channel->in)
		close(channel->out);
	if (channel->control >= 0)
		close(channel->control);
	channel->in = channel->out = channel->control = -1;
}
