/* Two sockets at one port, and nobody behind them. */
#include "base/silent.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIES 20 /* the port that UDP got may be taken for TCP */
#define BACKLOG 16

static int
open_at(int type, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)addr, len) == 0 &&
		getsockname(fd, (struct sockaddr *)addr, &len) == 0 &&
		(type == SOCK_DGRAM || listen(fd, BACKLOG) == 0))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int
silent_open(struct silent *silent, struct err *err)
{
	*silent = (struct silent){-1, -1, ""};
	for (int i = 0; i < TRIES; i++) {
		struct sockaddr_in addr = {
			.sin_family = AF_INET,
			.sin_addr = {htonl(INADDR_LOOPBACK)},
		};

		silent->udp = open_at(SOCK_DGRAM, &addr);
		if (silent->udp < 0)
			break;
		silent->tcp = open_at(SOCK_STREAM, &addr);
		if (silent->tcp >= 0) {
			snprintf(silent->addr, sizeof(silent->addr), "127.0.0.1:%u",
				(unsigned)ntohs(addr.sin_port));
			return 0;
		}
		close(silent->udp);
		silent->udp = -1;
	}
	return err_sys(err, "open a peer that never answers on 127.0.0.1");
}

void
silent_close(struct silent *silent)
{
	if (silent->tcp >= 0)
		close(silent->tcp);
	if (silent->udp >= 0)
		close(silent->udp);
	*silent = (struct silent){-1, -1, ""};
}
