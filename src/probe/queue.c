/* One listening socket, and those accepted from it. */
#include "probe/queue.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <linux/unix_diag.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "net/netstat.h"
#include "net/sysctl.h"
#include "net/tcp.h"
#include "net/tcp_option.h"

#define NAME_DIGITS 5 /* of the names the kernel gives (unix(7), autobind) */

socklen_t
queue_local_name(int64_t place, struct sockaddr_un *name)
{
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(name->sun_path + 1, NAME_DIGITS + 1, "%05x", (unsigned)place & 0xfffff);
	return offsetof(struct sockaddr_un, sun_path) + 1 + NAME_DIGITS;
}

static int
listen_local(struct queue *queue, int backlog, struct err *err)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(name.sun_family);

	queue->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (queue->fd < 0)
		return err_sys(err, "Unix socket");
	/* An address without a path: the kernel chooses an abstract name. */
	if (bind(queue->fd, (struct sockaddr *)&name, len) < 0 ||
		listen(queue->fd, backlog) < 0)
		return err_sys(err, "listen on a Unix socket");
	len = sizeof(name);
	if (getsockname(queue->fd, (struct sockaddr *)&name, &len) < 0)
		return err_sys(err, "getsockname");
	if (len != offsetof(struct sockaddr_un, sun_path) + 1 + NAME_DIGITS)
		return err_set(
			err, "the kernel gave a Unix socket a name of %u bytes", (unsigned)len);
	name.sun_path[1 + NAME_DIGITS] = '\0';
	queue->place = (int64_t)strtoul(name.sun_path + 1, NULL, 16);
	queue->backlog = backlog < queue->somaxconn ? backlog : queue->somaxconn;
	return 0;
}

static int
listen_tcp(struct queue *queue, const struct addr *near, int backlog, struct err *err)
{
	struct addr any_port = *near, bound;
	struct tcp_info info;

	addr_set_port(&any_port, 0);
	queue->fd = tcp_listen(&any_port, backlog, &bound, err);
	/* Of a listener these fields say: the limit of its queue, the length of its queue. */
	if (queue->fd < 0 || tcp_read_info(queue->fd, &info, err) < 0)
		return -1;
	queue->place = addr_port(&bound);
	queue->backlog = info.tcpi_sacked;
	return 0;
}

/* What this namespace has counted, less what it had before. */
static int
count_lost(struct queue *queue, struct err *err)
{
	int64_t overflows, drops;

	if (netstat_read("TcpExt", "ListenOverflows", &overflows, err) < 0 ||
		netstat_read("TcpExt", "ListenDrops", &drops, err) < 0)
		return -1;
	queue->overflowed = overflows - queue->overflowed;
	queue->dropped = drops - queue->dropped;
	return 0;
}

int
queue_open(
	struct queue *queue, const struct addr *near, bool local, int backlog, struct err *err)
{
	*queue = (struct queue){.local = local, .fd = -1, .stop_fd = -1};
	if (sysctl_read("net/core/somaxconn", &queue->somaxconn, err) < 0 ||
		count_lost(queue, err) < 0)
		return -1;
	if (local)
		return listen_local(queue, backlog, err);
	return listen_tcp(queue, near, backlog, err);
}

/* Ask the kernel for one Unix socket, by its inode. */
static int
request_local(int netlink, const struct queue *queue)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req body;
	} request = {
		.head.nlmsg_len = sizeof(request),
		.head.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.head.nlmsg_flags = NLM_F_REQUEST,
		.body.sdiag_family = AF_UNIX,
		.body.udiag_show = UDIAG_SHOW_RQLEN,
		.body.udiag_cookie = {~0U, ~0U},
	};
	struct stat stat;

	if (fstat(queue->fd, &stat) < 0)
		return -1;
	request.body.udiag_ino = (__u32)stat.st_ino;
	return send(netlink, &request, sizeof(request), 0) < 0 ? -1 : 0;
}

/* The receive queue of a listener counts connections. -1 when the kernel has no unix_diag. */
static int64_t
local_length(const struct queue *queue)
{
	_Alignas(struct nlmsghdr) char reply[1024];
	struct timeval patience = {.tv_sec = 1};
	const struct nlmsghdr *head = (const void *)reply;
	size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg)), got = 0;
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct nlattr attribute;
	struct unix_diag_rqlen lengths;

	if (netlink < 0)
		return -1;
	setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (request_local(netlink, queue) == 0) {
		ssize_t count = recv(netlink, reply, sizeof(reply), 0);

		got = count > 0 ? (size_t)count : 0;
	}
	close(netlink);
	if (got < at + sizeof(attribute) + sizeof(lengths) ||
		head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -1;
	memcpy(&attribute, reply + at, sizeof(attribute));
	memcpy(&lengths, reply + at + sizeof(attribute), sizeof(lengths));
	return attribute.nla_type == UNIX_DIAG_RQLEN ? (int64_t)lengths.udiag_rqueue : -1;
}

int
queue_length(const struct queue *queue, int64_t *length, struct err *err)
{
	struct tcp_info info;

	if (queue->local) {
		*length = local_length(queue);
		return 0;
	}
	if (tcp_read_info(queue->fd, &info, err) < 0)
		return -1;
	*length = info.tcpi_unacked;
	return 0;
}

static int
fail_accept(const struct queue *queue, struct err *err)
{
	struct rlimit limit = {0};

	if (errno != EMFILE)
		return err_sys(err, "accept");
	getrlimit(RLIMIT_NOFILE, &limit);
	return err_set(err,
		"accept: too many open files after %lld connections: the limit is %llu, raise "
		"ulimit -n",
		(long long)queue->accepted, (unsigned long long)limit.rlim_cur);
}

/* 1: one was there, 0: none is. */
static int
accept_one(struct queue *queue, struct err *err)
{
	int fd;

	do
		fd = accept4(queue->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	while (fd < 0 && (errno == ECONNABORTED || errno == EINTR));
	if (fd < 0)
		return errno == EAGAIN ? 0 : fail_accept(queue, err);
	queue->fds = alloc_grow(
		queue->fds, (size_t)queue->accepted, &queue->cap, sizeof(*queue->fds));
	queue->fds[queue->accepted++] = fd;
	return 1;
}

int
queue_drain(struct queue *queue, struct err *err)
{
	int status;

	do
		status = accept_one(queue, err);
	while (status > 0);
	return status;
}

static void *
pace(void *context)
{
	struct queue *queue = context;
	struct pollfd items[] = {
		{.fd = queue->fd, .events = POLLIN}, {.fd = queue->stop_fd, .events = POLLIN}};
	int status = 0;

	while (status >= 0 && !items[1].revents) {
		if (poll(items, 2, queue->spin ? 0 : -1) < 0 || !items[0].revents)
			continue;
		status = accept_one(queue, &queue->pace_err);
		if (status <= 0)
			continue;
		/* A client that is gone already is no concern of ours. */
		send(queue->fds[queue->accepted - 1], "", 1, MSG_NOSIGNAL);
		clock_sleep_until(clock_now() + queue->every_ns);
	}
	/* Who waits in vain is told so. */
	if (status < 0)
		shutdown(queue->fd, SHUT_RD);
	return NULL;
}

int
queue_pace(struct queue *queue, int64_t every_ns, struct err *err)
{
	queue->every_ns = every_ns;
	queue->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (queue->stop_fd < 0)
		return err_sys(err, "eventfd");
	if (thread_start(&queue->thread, pace, queue, err) < 0)
		return -1;
	queue->pacing = true;
	return 0;
}

static int
stop_pacing(struct queue *queue, struct err *err)
{
	uint64_t one = 1;

	if (!queue->pacing)
		return 0;
	if (write(queue->stop_fd, &one, sizeof(one)) < 0)
		return err_sys(err, "stop a thread");
	pthread_join(queue->thread, NULL);
	queue->pacing = false;
	return *queue->pace_err.text ? err_set(err, "%s", queue->pace_err.text) : 0;
}

int
queue_close(struct queue *queue, struct err *err)
{
	int status;

	if (queue->fd < 0)
		return 0;
	status = stop_pacing(queue, err);
	if (status == 0)
		status = queue_drain(queue, err);
	if (status == 0)
		status = count_lost(queue, err);
	for (int64_t i = 0; i < queue->accepted; i++)
		close(queue->fds[i]);
	free(queue->fds);
	queue->fds = NULL;
	close(queue->fd);
	queue->fd = -1;
	if (queue->stop_fd >= 0)
		close(queue->stop_fd);
	return status;
}
