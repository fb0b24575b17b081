/* SO_SNDBUF and SO_RCVBUF (socket(7)). */
#include "net/sockbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/socket.h>

static const struct {
	int option;
	const char *name, *limit;
} kinds[] = {
	[SOCKBUF_SEND] = {SO_SNDBUF, "SO_SNDBUF", "net.core.wmem_max"},
	[SOCKBUF_RECEIVE] = {SO_RCVBUF, "SO_RCVBUF", "net.core.rmem_max"},
};

int
sockbuf_get(int fd, enum sockbuf which, int64_t *bytes, struct err *err)
{
	int value;
	socklen_t len = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, kinds[which].option, &value, &len) < 0)
		return err_sys(err, "read %s", kinds[which].name);
	*bytes = value;
	return 0;
}

int
sockbuf_set(int fd, enum sockbuf which, int64_t bytes, struct err *err)
{
	int value = bytes > INT_MAX ? INT_MAX : (int)bytes;
	int64_t effective;

	if (setsockopt(fd, SOL_SOCKET, kinds[which].option, &value, sizeof(value)) < 0)
		return err_sys(err, "set %s", kinds[which].name);
	if (sockbuf_get(fd, which, &effective, err) < 0)
		return -1;
	if (effective / 2 >= bytes)
		return 0;
	errno = ENOBUFS;
	return err_set(err,
		"the kernel caps %s at %" PRId64 " bytes (%s), %" PRId64 " were asked for",
		kinds[which].name, effective / 2, kinds[which].limit, bytes);
}
