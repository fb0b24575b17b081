/* Count TCP sockets by state: a NETLINK_SOCK_DIAG dump, or the text of /proc/net/tcp and tcp6.
 */
#include "net/census.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/netstat.h"

#define ALL_STATES 0xffffffffU
#define SETTLE_NS (2 * NS_PER_S)

/* One end of a listed socket: 4 or 16 address bytes as on the wire, port in host order. */
struct end {
	unsigned char bytes[16];
	uint16_t port;
};

static bool
is_zero(const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

/* `listens`: an end on all addresses counts too. A server on all addresses matches any. */
static bool
matches(const struct end *end, const struct addr *server, bool listens)
{
	bool six = addr_family(server) == AF_INET6;
	const void *bytes = six ? (const void *)&server->sock.v6.sin6_addr
				: (const void *)&server->sock.v4.sin_addr;
	size_t len = six ? 16 : 4;

	if (end->port != addr_port(server))
		return false;
	return memcmp(end->bytes, bytes, len) == 0 || is_zero(bytes, len) ||
	       (listens && is_zero(end->bytes, len));
}

static void
count_socket(struct census *census, const struct addr *server, unsigned state,
	const struct end *local, const struct end *remote)
{
	bool servers = matches(local, server, true);

	if (state >= CENSUS_STATES || (!servers && !matches(remote, server, false)))
		return;
	census->sockets[state]++;
	census->server[state] += servers;
}

static int
request_dump(int fd, int family, struct err *err)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} request = {
		.head.nlmsg_len = sizeof(request),
		.head.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.body.sdiag_family = (__u8)family,
		.body.sdiag_protocol = IPPROTO_TCP,
		.body.idiag_states = ALL_STATES,
	};

	if (send(fd, &request, sizeof(request), 0) < 0)
		return err_sys(err, "ask for the list of sockets");
	return 0;
}

static void
count_diag(struct census *census, const struct addr *server, const struct inet_diag_msg *diag)
{
	struct end local = {.port = ntohs(diag->id.idiag_sport)};
	struct end remote = {.port = ntohs(diag->id.idiag_dport)};

	memcpy(local.bytes, diag->id.idiag_src, sizeof(local.bytes));
	memcpy(remote.bytes, diag->id.idiag_dst, sizeof(remote.bytes));
	count_socket(census, server, diag->idiag_state, &local, &remote);
}

static int
dump_error(const struct nlmsghdr *head, struct err *err)
{
	const struct nlmsgerr *reply = (const void *)(head + 1);

	errno = head->nlmsg_len >= sizeof(*head) + sizeof(reply->error) ? -reply->error
									: EBADMSG;
	return err_sys(err, "list of sockets");
}

/* One datagram of the dump. 1: more to come, 0: that was the last, -1: failed. */
static int
read_batch(struct census *census, const struct addr *server, char *bytes, size_t len,
	struct err *err)
{
	while (len >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *head = (const void *)bytes;
		size_t step = NLMSG_ALIGN(head->nlmsg_len);

		if (head->nlmsg_len < sizeof(*head) || head->nlmsg_len > len)
			return err_set(err, "list of sockets: malformed netlink message");
		if (head->nlmsg_type == NLMSG_DONE)
			return 0;
		if (head->nlmsg_type == NLMSG_ERROR)
			return dump_error(head, err);
		if (head->nlmsg_len >= sizeof(*head) + sizeof(struct inet_diag_msg))
			count_diag(census, server, (const void *)(head + 1));
		bytes += step;
		len -= step < len ? step : len;
	}
	return 1;
}

int
census_from_diag(const struct addr *server, struct census *census, struct err *err)
{
	_Alignas(struct nlmsghdr) char batch[32768];
	struct timeval patience = {.tv_sec = 2};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int status = -1;

	*census = (struct census){.source = "inet_diag"};
	if (fd < 0)
		return err_sys(err, "open the list of sockets");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (request_dump(fd, addr_family(server), err) < 0)
		goto out;
	do {
		ssize_t got = recv(fd, batch, sizeof(batch), 0);

		if (got < 0)
			status = err_sys(err, "read the list of sockets");
		else
			status = read_batch(census, server, batch, (size_t)got, err);
	} while (status > 0);
out:
	close(fd);
	return status;
}

/* "0100007F:1F90": words of 32 bits, each printed as the machine's own integer. */
static int
parse_end(const char *text, struct end *end)
{
	size_t digits = strspn(text, "0123456789ABCDEF");

	*end = (struct end){0};
	if ((digits != 8 && digits != 32) || text[digits] != ':')
		return -1;
	for (size_t i = 0; i < digits / 8; i++) {
		char word[9] = {0};
		uint32_t value;

		memcpy(word, text + i * 8, 8);
		value = (uint32_t)strtoul(word, NULL, 16);
		memcpy(end->bytes + i * 4, &value, 4);
	}
	end->port = (uint16_t)strtoul(text + digits + 1, NULL, 16);
	return 0;
}

/* "  0: LOCAL:PORT REMOTE:PORT STATE …"; the header line and others are passed over. */
static void
count_line(struct census *census, const struct addr *server, const char *line)
{
	char local_text[40], remote_text[40];
	unsigned state;
	struct end local, remote;

	if (sscanf(line, " %*[0-9]: %39s %39s %x", local_text, remote_text, &state) == 3 &&
		parse_end(local_text, &local) == 0 && parse_end(remote_text, &remote) == 0)
		count_socket(census, server, state, &local, &remote);
}

int
census_from_proc(const struct addr *server, struct census *census, struct err *err)
{
	bool six = addr_family(server) == AF_INET6;
	const char *path = six ? "/proc/net/tcp6" : "/proc/net/tcp";
	FILE *file = fopen(path, "re");
	char line[512];

	*census = (struct census){.source = "/proc/net/tcp"};
	if (!file)
		return err_sys(err, "open %s", path);
	while (fgets(line, sizeof(line), file))
		count_line(census, server, line);
	if (ferror(file)) {
		err_sys(err, "read %s", path);
		fclose(file);
		return -1;
	}
	fclose(file);
	return 0;
}

int
census_take(const struct addr *server, struct census *census, struct err *err)
{
	/* Any failure of netlink (no module, a seccomp filter) leaves /proc to try. */
	if (census_from_diag(server, census, NULL) == 0)
		return 0;
	return census_from_proc(server, census, err);
}

int64_t
census_open(const int64_t sockets[static CENSUS_STATES])
{
	int64_t open = -sockets[TCP_LISTEN] - sockets[TCP_TIME_WAIT];

	for (int state = 1; state < CENSUS_STATES; state++)
		open += sockets[state];
	return open;
}

int
census_settle(
	const struct addr *server, int64_t deadline_ns, struct census *census, struct err *err)
{
	int64_t until = clock_now() + SETTLE_NS;
	bool settled = false;

	if (until > deadline_ns)
		until = deadline_ns;
	if (census_take(server, census, err) < 0)
		return -1;
	/* A listing is not of one moment: what changes its state meanwhile can be missing from
	 * it. So it takes two that are the same. */
	while (!settled && clock_now() < until) {
		int64_t moving = census_open(census->sockets);
		int64_t waiting = census->sockets[TCP_TIME_WAIT];

		if (moving)
			clock_sleep_until(clock_now() + NS_PER_MS);
		if (census_take(server, census, err) < 0)
			return -1;
		settled = !moving && !census_open(census->sockets) &&
			  census->sockets[TCP_TIME_WAIT] == waiting;
	}
	return 0;
}

int
census_time_wait_entered(int64_t *count, struct err *err)
{
	return netstat_read("TcpExt", "TW", count, err);
}
