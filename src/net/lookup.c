/* A c-ares channel and the loop that drives it.
 *
 * The sockets are ours (ares_set_socket_functions): that counts what is sent, and keeps newer
 * versions from TCP Fast Open, so that all versions take the same round trips. */
#define CARES_NO_DEPRECATED /* 1.34 deprecates the only way of it that 1.18 has */
#include "net/lookup.h"

#include <ares.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

#define SOCKETS_MAX 16
#define CACHE_SECONDS 3600
#define CACHE_SINCE 0x011f00 /* ARES_VERSION: 1.31.0 */

struct lookup {
	ares_channel channel;
	bool cache, hosts;
	struct pollfd sockets[SOCKETS_MAX]; /* those c-ares waits for */
	nfds_t socket_count;
	int socket_errno; /* why there was none */
	int64_t sent;
	struct lookup_result *result;
	bool done;
};

bool
lookup_has_cache(void)
{
#if ARES_VERSION >= CACHE_SINCE
	return true;
#else
	return false;
#endif
}

const char *
lookup_version(void)
{
	return ares_version(NULL);
}

/* ---- sockets ---- */

static ares_socket_t
on_socket(int family, int type, int protocol, void *data)
{
	struct lookup *lookup = data;
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

	if (fd < 0)
		lookup->socket_errno = errno;
	return fd;
}

static int
on_close(ares_socket_t fd, void *data)
{
	(void)data;
	return close(fd);
}

static int
on_connect(ares_socket_t fd, const struct sockaddr *addr, ares_socklen_t len, void *data)
{
	(void)data;
	return connect(fd, addr, len);
}

static ares_ssize_t
on_receive(ares_socket_t fd, void *bytes, size_t len, int flags, struct sockaddr *from,
	ares_socklen_t *from_len, void *data)
{
	(void)data;
	return recvfrom(fd, bytes, len, flags, from, from_len);
}

static ares_ssize_t
on_send(ares_socket_t fd, const struct iovec *parts, int count, void *data)
{
	struct lookup *lookup = data;
	struct msghdr message = {
		.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = (size_t)count};
	ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);

	lookup->sent += sent > 0;
	return sent;
}

static const struct ares_socket_functions socket_functions = {
	on_socket, on_close, on_connect, on_receive, on_send};

/* c-ares tells what it waits for; neither reading nor writing: no longer for anything. */
static void
on_socket_state(void *data, ares_socket_t fd, int readable, int writable)
{
	struct lookup *lookup = data;
	short events = (short)((readable ? POLLIN : 0) | (writable ? POLLOUT : 0));
	nfds_t i = 0;

	while (i < lookup->socket_count && lookup->sockets[i].fd != fd)
		i++;
	if (i == SOCKETS_MAX)
		return; /* more than servers and retries can need; the deadline ends it */
	if (!events) {
		if (i < lookup->socket_count)
			lookup->sockets[i] = lookup->sockets[--lookup->socket_count];
		return;
	}
	if (i == lookup->socket_count)
		lookup->socket_count++;
	lookup->sockets[i] = (struct pollfd){.fd = fd, .events = events};
}

/* ---- set up ---- */

/* All that c-ares would look for elsewhere. It asks the environment whatever it is told. */
static void
forget_environment(void)
{
	static const char *const names[] = {
		"RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES", "CARES_HOSTS"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
}

static int
failed(const char *what, int status, struct err *err)
{
	return err_set(err, "c-ares: %s: %s", what, ares_strerror(status));
}

static int
open_channel(struct lookup *lookup, const struct lookup_setting *setting, struct err *err)
{
	char order[] = {setting->hosts ? 'f' : 'b', '\0'}, nowhere[] = "/dev/null";
	bool single = setting->server_count == 1 && setting->tries == 1;
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES |
			 (setting->keep_sockets ? ARES_FLAG_STAYOPEN : 0) |
			 /* Else 1.18 forgets what a server answered and says that none did. */
			 (single ? ARES_FLAG_NOCHECKRESP : 0),
		.timeout = (int)((setting->retry_ns + NS_PER_MS - 1) / NS_PER_MS),
		.tries = setting->tries,
		.ndots = 1,
		.lookups = order,
		.resolvconf_path = nowhere,
		.sock_state_cb = on_socket_state,
		.sock_state_cb_data = lookup,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
		   ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB |
		   ARES_OPT_DOMAINS | ARES_OPT_SORTLIST | ARES_OPT_NOROTATE;
	int status;

#if ARES_VERSION >= CACHE_SINCE
	options.qcache_max_ttl = setting->cache ? CACHE_SECONDS : 0;
	mask |= ARES_OPT_QUERY_CACHE;
#endif
	status = ares_init_options(&lookup->channel, &options, mask);
	if (status != ARES_SUCCESS) {
		lookup->channel = NULL;
		return failed("set up", status, err);
	}
	ares_set_socket_functions(lookup->channel, &socket_functions, lookup);
	return 0;
}

static int
set_servers(struct lookup *lookup, const struct lookup_setting *setting, struct err *err)
{
	struct ares_addr_port_node nodes[LOOKUP_SERVERS_MAX] = {0};
	int status;

	for (size_t i = 0; i < setting->server_count; i++) {
		const struct addr *addr = &setting->servers[i];

		nodes[i].family = addr_family(addr);
		nodes[i].udp_port = nodes[i].tcp_port = addr_port(addr);
		if (nodes[i].family == AF_INET6)
			memcpy(&nodes[i].addr.addr6, &addr->sock.v6.sin6_addr, 16);
		else
			nodes[i].addr.addr4 = addr->sock.v4.sin_addr;
		if (i > 0)
			nodes[i - 1].next = &nodes[i];
	}
	status = ares_set_servers_ports(lookup->channel, setting->server_count ? nodes : NULL);
	return status == ARES_SUCCESS ? 0 : failed("set the servers", status, err);
}

struct lookup *
lookup_new(const struct lookup_setting *setting, struct err *err)
{
	struct lookup *lookup = alloc_zero(1, sizeof(*lookup));
	int status = ares_library_init(ARES_LIB_INIT_ALL);

	forget_environment();
	/* The one way of naming the hosts file that every version has. */
	if (setting->hosts && setenv("CARES_HOSTS", setting->hosts, 1) < 0)
		err_sys(err, "set CARES_HOSTS");
	else if (status != ARES_SUCCESS)
		failed("start", status, err);
	else if (open_channel(lookup, setting, err) == 0 &&
		 set_servers(lookup, setting, err) == 0) {
		lookup->hosts = setting->hosts != NULL;
		return lookup;
	}
	lookup_free(lookup);
	return NULL;
}

void
lookup_free(struct lookup *lookup)
{
	if (!lookup)
		return;
	if (lookup->channel)
		ares_destroy(lookup->channel);
	ares_library_cleanup();
	free(lookup);
}

/* ---- look up ---- */

static enum lookup_outcome
outcome_of(const struct lookup *lookup, int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return LOOKUP_ANSWERED;
	case ARES_ETIMEOUT:
	case ARES_ECANCELLED: /* at our deadline */
		return LOOKUP_TIMEOUT;
	case ARES_ECONNREFUSED:
		/* What 1.18 also says when a hosts file does not have a name. */
		return lookup->hosts ? LOOKUP_NXDOMAIN : LOOKUP_REFUSED;
	case ARES_EREFUSED:
		return LOOKUP_REFUSED;
	case ARES_ESERVFAIL:
		return LOOKUP_SERVFAIL;
	case ARES_ENOTFOUND:
	case ARES_ENODATA:
		return LOOKUP_NXDOMAIN;
	default:
		return LOOKUP_WRONG;
	}
}

static void
copy_addresses(struct lookup_result *result, const struct ares_addrinfo *info)
{
	for (const struct ares_addrinfo_node *node = info->nodes; node; node = node->ai_next) {
		struct addr *addr = &result->addrs[result->addr_count];

		if (result->addr_count == LOOKUP_ADDRS_MAX ||
			node->ai_addrlen > sizeof(addr->sock))
			break;
		memcpy(&addr->sock, node->ai_addr, node->ai_addrlen);
		addr->len = node->ai_addrlen;
		result->addr_count++;
	}
}

static void
on_result(void *data, int status, int timeouts, struct ares_addrinfo *info)
{
	struct lookup *lookup = data;
	struct lookup_result *result = lookup->result;

	(void)timeouts;
	if (status != ARES_EDESTRUCTION) {
		result->end_ns = clock_now();
		result->outcome = outcome_of(lookup, status);
		result->reason = status == ARES_SUCCESS ? "" : ares_strerror(status);
		if (info)
			copy_addresses(result, info);
	}
	lookup->done = true;
	ares_freeaddrinfo(info);
}

/* One look at the sockets. What is due by the clock is done by c-ares in passing. */
static int
turn(struct lookup *lookup, const struct wait *wait, struct err *err)
{
	struct pollfd ready[SOCKETS_MAX];
	nfds_t count = lookup->socket_count;
	int64_t until = wait->deadline_ns, now = clock_now();
	struct timeval room;
	int got;

	if (ares_timeout(lookup->channel, NULL, &room)) {
		int64_t due = now + room.tv_sec * NS_PER_S + room.tv_usec * NS_PER_US;

		until = due < until ? due : until;
	}
	memcpy(ready, lookup->sockets, count * sizeof(*ready));
	got = poll(ready, count, wait->how == WAIT_SPIN ? 0 : clock_poll_ms(until));
	if (got < 0 && errno != EINTR)
		return err_sys(err, "poll");
	if (got <= 0)
		count = 0;
	for (nfds_t i = 0; i < count && !lookup->done; i++) {
		bool in = ready[i].revents & ~POLLOUT, out = ready[i].revents & POLLOUT;

		if (in || out)
			ares_process_fd(lookup->channel, in ? ready[i].fd : ARES_SOCKET_BAD,
				out ? ready[i].fd : ARES_SOCKET_BAD);
	}
	if (count == 0)
		ares_process_fd(lookup->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	return 0;
}

int
lookup_name(struct lookup *lookup, const char *name, int family, uint16_t port,
	const struct wait *wait, struct lookup_result *result, struct err *err)
{
	struct ares_addrinfo_hints hints = {
		.ai_family = family,
		.ai_flags = ARES_AI_NOSORT | (lookup->hosts ? ARES_AI_ENVHOSTS : 0),
	};
	int64_t sent = lookup->sent;
	int status = 0;

	*result = (struct lookup_result){.reason = ""};
	lookup->result = result;
	lookup->done = false;
	lookup->socket_errno = 0;
	result->start_ns = clock_now();
	ares_getaddrinfo(lookup->channel, name, NULL, &hints, on_result, lookup);
	while (!lookup->done && status == 0) {
		if (clock_now() >= wait->deadline_ns)
			break;
		status = turn(lookup, wait, err);
	}
	if (!lookup->done)
		ares_cancel(lookup->channel);
	result->attempts = lookup->sent - sent;
	for (size_t i = 0; i < result->addr_count; i++) {
		struct addr *addr = &result->addrs[i];

		if (addr_family(addr) == AF_INET6)
			addr->sock.v6.sin6_port = htons(port);
		else
			addr->sock.v4.sin_port = htons(port);
	}
	if (status == 0 && lookup->socket_errno && result->outcome != LOOKUP_ANSWERED) {
		errno = lookup->socket_errno;
		return err_sys(err, "socket for a lookup");
	}
	return status;
}
