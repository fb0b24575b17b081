/* Writes, and waits with poll(). */
#include "probe/writer.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"

ssize_t
writer_write(struct writer *writer, struct err *err)
{
	ssize_t sent = send(
		writer->fd, writer->bytes, writer->size, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : err_sys(err, "send");
	writer->sent += sent;
	return sent;
}

int
writer_await(const struct writer *writer, int64_t until_ns, struct err *err)
{
	struct pollfd item = {.fd = writer->fd, .events = POLLOUT};
	int64_t until = until_ns < writer->deadline_ns ? until_ns : writer->deadline_ns;
	int count;

	do {
		count = poll(&item, 1, writer->spin ? 0 : clock_poll_ms(until));
		if (count < 0 && errno != EINTR)
			return err_sys(err, "poll");
		if (clock_now() >= writer->deadline_ns) {
			errno = ETIME;
			return err_set(err, "send: the peer takes nothing");
		}
	} while (count <= 0 && clock_now() < until_ns);
	return count > 0;
}

int
writer_fill_until(struct writer *writer, int64_t until_ns, struct err *err)
{
	while (clock_now() < until_ns) {
		ssize_t taken = writer_write(writer, err);

		if (taken < 0 || (taken == 0 && writer_await(writer, until_ns, err) < 0))
			return -1;
	}
	return 0;
}
