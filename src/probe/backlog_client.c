/* The client's end of the control connection, and what both patterns share. */
#include "probe/backlog.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "net/tcp.h"

int
backlog_parse(const char *text, int *backlog, struct err *err)
{
	int64_t count;

	*backlog = INT_MAX;
	if (!strcmp(text, "somaxconn"))
		return 0;
	if (units_parse_count(text, &count, NULL) < 0 || count > INT_MAX)
		return err_set(err,
			"option 'backlog': '%s' is neither a count, 0..%d, nor "
			"'somaxconn'",
			text, INT_MAX);
	*backlog = (int)count;
	return 0;
}

void
backlog_reply_write(char reply[static BACKLOG_REPLY_SIZE],
	const int64_t numbers[static BACKLOG_NUMBERS], const struct err *err)
{
	memset(reply, 0, BACKLOG_REPLY_SIZE);
	if (*err->text)
		snprintf(reply, BACKLOG_REPLY_SIZE, "no %s", err->text);
	else
		snprintf(reply, BACKLOG_REPLY_SIZE, "ok %lld %lld %lld", (long long)numbers[0],
			(long long)numbers[1], (long long)numbers[2]);
}

int
backlog_reply_read(const char reply[static BACKLOG_REPLY_SIZE],
	int64_t numbers[static BACKLOG_NUMBERS], struct err *err)
{
	long long read[BACKLOG_NUMBERS];

	errno = EBADMSG;
	if (!memchr(reply, '\0', BACKLOG_REPLY_SIZE))
		return err_set(err, "the reply of the serving half has no end");
	if (!strncmp(reply, "no ", 3))
		return err_set(err, "the serving half: %s", reply + 3);
	if (sscanf(reply, "ok %lld %lld %lld", &read[0], &read[1], &read[2]) != 3)
		return err_set(err, "the peer is no serving half of this probe");
	for (int i = 0; i < BACKLOG_NUMBERS; i++)
		numbers[i] = read[i];
	return 0;
}

int
backlog_ask(struct backlog_client *client, enum backlog_word word,
	int64_t numbers[static BACKLOG_NUMBERS], struct err *err)
{
	char letter = (char)word, reply[BACKLOG_REPLY_SIZE];
	int64_t start = clock_now(), took;

	if (tcp_send(client->control, &letter, 1, &client->wait, err) < 0 ||
		tcp_receive_all(client->control, reply, sizeof(reply), &client->wait, err) < 0)
		return err_prefix(err, "control connection");
	took = clock_now() - start;
	if (!client->rtt_ns || took < client->rtt_ns)
		client->rtt_ns = took;
	return backlog_reply_read(reply, numbers, err);
}

int
backlog_open(struct backlog_client *client, struct err *err)
{
	int64_t numbers[BACKLOG_NUMBERS];

	if (backlog_ask(client, BACKLOG_OPEN, numbers, err) < 0)
		return -1;
	client->place = numbers[0];
	client->backlog = numbers[1];
	client->somaxconn = numbers[2];
	client->peer = client->call->addr;
	addr_set_port(&client->peer, (uint16_t)client->place);
	return 0;
}

int
backlog_close(struct backlog_client *client, struct err *err)
{
	int64_t numbers[BACKLOG_NUMBERS];

	return backlog_ask(client, BACKLOG_CLOSE, numbers, err);
}

int
backlog_limit(int error, size_t count, struct err *err)
{
	struct rlimit limit = {0};
	struct err what = *err;

	if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		return err_set(err, "with %zu connections open: %.400s (limit %llu)", count,
			what.text, (unsigned long long)limit.rlim_cur);
	if (error == EADDRNOTAVAIL)
		return err_set(err,
			"with %zu connections open: %.400s (net.ipv4.ip_local_port_range)",
			count, what.text);
	return -1;
}

void
backlog_reset(int fd)
{
	struct linger now = {.l_onoff = 1};

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}
