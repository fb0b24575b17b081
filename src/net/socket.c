/* What sockets of every kind do when something fails. */
#include "net/socket.h"

#include <errno.h>
#include <unistd.h>

int
socket_fail(struct err *err, const char *what)
{
	if (errno == EMFILE)
		return err_set(
			err, "%s: too many open files in this process: raise ulimit -n", what);
	return err_sys(err, "%s", what);
}

int
socket_drop(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
	return -1;
}
