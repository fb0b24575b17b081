/* What the halves of probe-backlog say to each other, and the kernel's settings they read. */
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "net/sysctl.h"
#include "net/tcp.h"
#include "probe/backlog.h"
#include "probe/queue.h"

static void
parses(const char *text, int expected)
{
	struct err err = {""};
	int backlog = -1;

	CHECK_INT(backlog_parse(text, &backlog, &err), 0);
	CHECK_INT(backlog, expected);
}

static void
test_parse(void)
{
	static const char *const bad[] = {
		"", "-1", "+1", "1.5", " 1", "1 ", "many", "somaxconn ", "2147483648", "0x10"};
	struct err err = {""};
	int backlog;

	parses("0", 0);
	parses("128", 128);
	parses("2147483647", INT_MAX);
	parses("somaxconn", INT_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_INT(backlog_parse(bad[i], &backlog, &err), -1);
	CHECK_TEXT(err.text,
		"option 'backlog': '0x10' is neither a count, 0..2147483647, nor 'somaxconn'");
}

static void
test_reply(void)
{
	const int64_t sent[BACKLOG_NUMBERS] = {0, 4097, INT64_MAX};
	int64_t got[BACKLOG_NUMBERS] = {-1, -1, -1};
	char reply[BACKLOG_REPLY_SIZE];
	struct err none = {""}, err = {"accept: too many"};

	backlog_reply_write(reply, sent, &none);
	CHECK_INT(backlog_reply_read(reply, got, &none), 0);
	CHECK_INT(memcmp(sent, got, sizeof(got)), 0);
	backlog_reply_write(reply, sent, &err);
	CHECK_INT(backlog_reply_read(reply, got, &none), -1);
	CHECK_TEXT(none.text, "the serving half: accept: too many");
	/* The longest reason there is fits, with its end. */
	memset(err.text, 'x', sizeof(err.text) - 1);
	backlog_reply_write(reply, sent, &err);
	CHECK_INT(strlen(reply), 3 + ERR_TEXT_SIZE - 1);
}

static void
test_no_reply(void)
{
	static const char *const bad[] = {
		"", "ok", "ok 1 2", "ok 1 2 x", "OK 1 2 3", "HTTP/1.1 200"};
	int64_t got[BACKLOG_NUMBERS];
	char reply[BACKLOG_REPLY_SIZE];
	struct err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memset(reply, 0, sizeof(reply));
		memcpy(reply, bad[i], strlen(bad[i]));
		CHECK_INT(backlog_reply_read(reply, got, &err), -1);
		CHECK_TEXT(err.text, "the peer is no serving half of this probe");
	}
	memset(reply, '7', sizeof(reply));
	CHECK_INT(backlog_reply_read(reply, got, &err), -1);
	CHECK_TEXT(err.text, "the reply of the serving half has no end");
}

/* Three connections to a queue that has room for four, then all accepted. */
static void
test_queue(void)
{
	struct err err = {""};
	struct addr near, peer;
	struct queue queue;
	int64_t length = -1;
	int fds[3];

	CHECK_INT(addr_parse("127.0.0.1:1", &near, &err), 0);
	CHECK_INT(queue_open(&queue, &near, false, 3, &err), 0);
	CHECK_INT(queue.backlog, 3);
	peer = near;
	peer.sock.v4.sin_port = htons((uint16_t)queue.place);
	for (int i = 0; i < 3; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK_INT(connect(fds[i], &peer.sock.any, peer.len), 0);
		CHECK_INT(queue_length(&queue, &length, &err), 0);
		CHECK_INT(length, i + 1);
	}
	CHECK_INT(queue_drain(&queue, &err), 0);
	CHECK_INT(queue.accepted, 3);
	CHECK_INT(queue_length(&queue, &length, &err), 0);
	CHECK_INT(length, 0);
	CHECK_INT(queue_close(&queue, &err), 0);
	CHECK_INT(queue_close(&queue, &err), 0);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void
test_sysctl(void)
{
	struct err err = {""};
	int64_t value = -1;

	CHECK_INT(sysctl_read("net/core/somaxconn", &value, &err), 0);
	CHECK_BETWEEN(value, 1, INT_MAX);
	CHECK_INT(sysctl_read("net/core/no_such", &value, &err), -1);
	CHECK_TEXT(err.text, "open /proc/sys/net/core/no_such: No such file or directory");
	/* Not one number. */
	CHECK_INT(sysctl_read("net/ipv4/tcp_rmem", &value, &err), -1);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"parse", test_parse},
		{"reply", test_reply},
		{"no reply", test_no_reply},
		{"queue", test_queue},
		{"sysctl", test_sysctl},
		CU_TEST_INFO_NULL,
	};

	return check_main("backlog", tests);
}
