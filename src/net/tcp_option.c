/* setsockopt() and getsockopt() of TCP, with errors in words. */
#include "net/tcp_option.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

int
tcp_set_option(int fd, int option, int value, const char *name, struct err *err)
{
	if (setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value)) < 0)
		return err_sys(err, "set %s to %d", name, value);
	return 0;
}

int
tcp_read_info(int fd, struct tcp_info *info, struct err *err)
{
	socklen_t len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len) < 0)
		return err_sys(err, "read TCP_INFO");
	return 0;
}
