/* The ways between two processes of one machine, each as a channel. */
#include "probe/local_path.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "net/tcp.h"

#define BACKLOG 128
#define MESSAGE_OVERHEAD 32 /* net/unix/af_unix.c: a message is at most SO_SNDBUF - 32 */

/* Of the channel, how many descriptors does the server pass over a connection? */
static size_t
passed(const struct local_path *path)
{
	if (path->way == WAY_PIPE)
		return 2;
	return path->way == WAY_SOCKETPAIR || path->way == WAY_DGRAM;
}

static int
listener_type(const struct local_path *path)
{
	return path->way == WAY_SEQPACKET ? SOCK_SEQPACKET : SOCK_STREAM;
}

int
local_path_check(const struct local_path *path, struct err *err)
{
	struct unix_addr name;

	if (path->nagle && path->way != WAY_TCP)
		return err_set(
			err, "nodelay=off is of path=tcp: no other has Nagle's algorithm");
	if (!path->file)
		return 0;
	if (path->way != WAY_UNIX && path->way != WAY_SEQPACKET)
		return err_set(err, "file is of path=unix and path=seqpacket");
	return unix_addr_file(&name, path->file, err) < 0 ? err_prefix(err, "file") : 0;
}

bool
local_path_takes(const struct local_path *path, int64_t size, struct err *err)
{
	int type = path->way == WAY_DGRAM ? SOCK_DGRAM : SOCK_SEQPACKET;
	int fd, room;
	socklen_t len = sizeof(room);

	if (path->way != WAY_DGRAM && path->way != WAY_SEQPACKET)
		return true;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &len) < 0)
		room = 0;
	if (fd >= 0)
		close(fd);
	if (size <= room - MESSAGE_OVERHEAD)
		return true;
	err_set(err,
		"size: a message of such a socket has at most %d bytes here, its send buffer "
		"less %d (sysctl net.core.wmem_default)",
		room - MESSAGE_OVERHEAD, MESSAGE_OVERHEAD);
	return false;
}

void
local_path_name(const struct local_path *path, const struct addr *ip, struct unix_addr *name)
{
	if (!path->file || unix_addr_file(name, path->file, NULL) < 0)
		unix_addr_beside(name, "unix", ip);
}

int
local_path_listen(const struct local_path *path, const struct addr *ip, struct err *err)
{
	struct unix_addr name;
	int fd;

	local_path_name(path, ip, &name);
	fd = unix_listen(&name, listener_type(path), BACKLOG, err);
	if (fd < 0 && errno == EADDRINUSE && path->file)
		return err_prefix(
			err, "there is such a file: remove it if nobody serves there");
	return fd;
}

/* tcp_socket() turns it off, and so does what is accepted here. */
static int
set_nagle(int fd, const struct local_path *path, struct err *err)
{
	int off = !path->nagle;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &off, sizeof(off)) < 0)
		return err_sys(err, "set TCP_NODELAY");
	return 0;
}

static int
make_pipes(int ours[static 2], int theirs[static 2], struct err *err)
{
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	if (pipe2(back, O_CLOEXEC) < 0) {
		err_sys(err, "pipe");
		close(there[0]);
		close(there[1]);
		return -1;
	}
	ours[0] = there[0];
	ours[1] = back[1];
	theirs[0] = back[0];
	theirs[1] = there[1];
	return 0;
}

/* Both ends of what is passed, in and out. */
static int
make_ends(const struct local_path *path, int ours[static 2], int theirs[static 2],
	struct err *err)
{
	int pair[2];

	if (path->way == WAY_PIPE)
		return make_pipes(ours, theirs, err);
	if (path->way == WAY_DGRAM) {
		if (unix_datagram_pair(pair, err) < 0)
			return -1;
	} else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		return err_sys(err, "socketpair");
	}
	ours[0] = ours[1] = pair[0];
	theirs[0] = theirs[1] = pair[1];
	return 0;
}

/* Make the ends, pass on theirs, start ours. */
static int
pass_on(const struct local_path *path, int fd, const struct wait *wait, struct channel *channel,
	struct err *err)
{
	size_t count = passed(path);
	int ours[2] = {-1, -1}, theirs[2] = {-1, -1}, sent;

	if (make_ends(path, ours, theirs, err) < 0) {
		close(fd);
		return -1;
	}
	sent = unix_send_fds(fd, theirs, count, NULL);
	for (size_t i = 0; i < count; i++)
		close(theirs[i]);
	if (path->way != WAY_DGRAM) {
		close(fd);
		fd = -1;
	}
	if (channel_start(channel, ours[0], ours[1], fd, wait, err) < 0)
		return -1;
	if (sent == 0)
		return 0;
	channel_close(channel);
	return 1;
}

int
local_path_accept(const struct local_path *path, int fd, const struct wait *wait,
	struct channel *channel, struct err *err)
{
	if (passed(path) > 0)
		return pass_on(path, fd, wait, channel, err);
	if (path->way == WAY_TCP && set_nagle(fd, path, err) < 0) {
		close(fd);
		return 1;
	}
	return channel_start(channel, fd, fd, -1, wait, err);
}

static int
connect_tcp(const struct local_path *path, const struct addr *peer, const struct wait *wait,
	struct err *err)
{
	int fd = tcp_socket(addr_family(peer), wait->how, err);

	if (fd < 0)
		return -1;
	if (set_nagle(fd, path, err) == 0 && tcp_connect(fd, peer, wait, err) == 0)
		return fd;
	close(fd);
	return -1;
}

static int
connect_unix(const struct local_path *path, const struct addr *peer, struct err *err)
{
	struct unix_addr name;
	int fd;

	local_path_name(path, peer, &name);
	fd = unix_connect(&name, listener_type(path), err);
	if (fd < 0 && errno == ECONNREFUSED && !path->file)
		return err_prefix(
			err, "no server with these options in this network namespace");
	return fd;
}

int
local_path_connect(const struct local_path *path, const struct addr *peer,
	const struct wait *wait, struct channel *channel, struct err *err)
{
	size_t count = passed(path);
	int fd = path->way == WAY_TCP ? connect_tcp(path, peer, wait, err)
				      : connect_unix(path, peer, err);
	int ends[2] = {fd, fd}, control = -1;

	if (fd < 0)
		return -1;
	if (count > 0 && unix_receive_fds(fd, ends, count, wait, err) < 0) {
		close(fd);
		return -1;
	}
	if (count == 1)
		ends[1] = ends[0];
	if (path->way == WAY_DGRAM)
		control = fd;
	else if (count > 0)
		close(fd);
	return channel_start(channel, ends[0], ends[1], control, wait, err);
}

int
local_path_buffer(const struct local_path *path, const struct channel *channel)
{
	int size;
	socklen_t len = sizeof(size);

	if (path->way == WAY_PIPE)
		return fcntl(channel->out, F_GETPIPE_SZ);
	return getsockopt(channel->out, SOL_SOCKET, SO_SNDBUF, &size, &len) < 0 ? -1 : size;
}
