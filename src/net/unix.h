/* Unix sockets: their names, and descriptors passed over them.
 *
 * An abstract name lives in the network namespace, as a port does, so two processes that share
 * a loopback share it too, whatever files they see. Every function that fails leaves the reason
 * in errno as well. */
#ifndef NET_UNIX_H
#define NET_UNIX_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"
#include "net/addr.h"
#include "net/wait.h"

/* Bytes of a file's path that fit into a struct sockaddr_un with the NUL behind it: 107. */
#define UNIX_FILE_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

#define UNIX_TEXT_SIZE (UNIX_FILE_MAX + 2)

struct unix_addr {
	struct sockaddr_un sock;
	socklen_t len;
};

/* A socket in the file system. -1 when the path is empty or longer than UNIX_FILE_MAX. */
int unix_addr_file(struct unix_addr *addr, const char *path, struct err *err);

/* The abstract name that belongs to the IP address on which a server of `what` listens. */
void unix_addr_beside(struct unix_addr *addr, const char *what, const struct addr *ip);

/* The path, or "@name" of an abstract one. */
void unix_addr_format(const struct unix_addr *addr, char out[static UNIX_TEXT_SIZE]);

/* A non-blocking listening socket of that type (SOCK_STREAM or SOCK_SEQPACKET). Returns the
 * descriptor; a file is left to the caller to remove. */
int unix_listen(const struct unix_addr *addr, int type, int backlog, struct err *err);

/* A blocking socket of that type, connected. Returns the descriptor. */
int unix_connect(const struct unix_addr *addr, int type, struct err *err);

/* Two datagram sockets, each with an abstract name the kernel chose, connected to each other.
 */
int unix_datagram_pair(int fds[static 2], struct err *err);

#define UNIX_FDS_MAX 4

/* Pass descriptors over a stream socket; those of the caller stay open. */
int unix_send_fds(int fd, const int *fds, size_t count, struct err *err);

/* Receive exactly as many; they are closed on exec. A blocking socket is expected. */
int unix_receive_fds(int fd, int *fds, size_t count, const struct wait *wait, struct err *err);

#endif
