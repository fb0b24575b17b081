/* Unix sockets and their names, descriptors passed over them, and what the probe unix puts on
 * top: channels of every kind, and what is refused of their options. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "net/cpu.h"
#include "net/unix.h"
#include "probe/channel.h"
#include "probe/local_path.h"

static struct wait
soon(enum wait_how how)
{
	return (struct wait){.how = how, .deadline_ns = clock_now() + 5 * NS_PER_S};
}

static struct addr
any_ip(void)
{
	struct addr addr;

	/* A port of this process alone, so that its abstract names are too. */
	CHECK_INT(addr_parse("127.0.0.1:1", &addr, NULL), 0);
	addr.sock.v4.sin_port = htons((uint16_t)(getpid() % 60000 + 1));
	return addr;
}

static void
test_names(void)
{
	char path[UNIX_FILE_MAX + 2], text[UNIX_TEXT_SIZE];
	struct unix_addr name;
	struct addr ip;
	struct err err = {""};

	memset(path, 'x', sizeof(path));
	path[UNIX_FILE_MAX + 1] = '\0';
	CHECK_INT(unix_addr_file(&name, path, &err), -1);
	CHECK_TEXT(err.text,
		"'xxxxxxxxxxxxxxxxxxxx...' has 108 bytes: the path of a Unix socket "
		"has at most 107");
	path[UNIX_FILE_MAX] = '\0';
	CHECK_INT(unix_addr_file(&name, path, &err), 0);
	unix_addr_format(&name, text);
	CHECK_TEXT(text, path);
	CHECK_INT(unix_addr_file(&name, "", &err), -1);
	addr_parse("[fd52:7474:6d61::2]:7000", &ip, NULL);
	unix_addr_beside(&name, "unix", &ip);
	unix_addr_format(&name, text);
	CHECK_TEXT(text, "@rttmatrix-unix/[fd52:7474:6d61::2]:7000");
}

static void
test_abstract(void)
{
	struct addr ip = any_ip(), other = ip;
	struct unix_addr name, longer;
	struct err err = {""};
	int listener, fd;

	unix_addr_beside(&name, "test", &ip);
	listener = unix_listen(&name, SOCK_SEQPACKET, 1, &err);
	CHECK_TEXT(err.text, "");
	fd = unix_connect(&name, SOCK_SEQPACKET, &err);
	CU_ASSERT(fd >= 0);
	close(fd);
	CHECK_INT(unix_connect(&name, SOCK_STREAM, &err),
		-1); /* each type has names of its own */
	CHECK_INT(errno, ECONNREFUSED);
	addr_parse("[::1]:9", &other, NULL);
	unix_addr_beside(&longer, "test", &other);
	CHECK_INT(unix_connect(&longer, SOCK_SEQPACKET, &err), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_TEXT(
		err.text, "connect to Unix socket @rttmatrix-test/[::1]:9: Connection refused");
	CHECK_INT(unix_listen(&name, SOCK_SEQPACKET, 1, &err), -1);
	CHECK_INT(errno, EADDRINUSE);
	close(listener);
}

static void
test_passing(void)
{
	struct wait wait = soon(WAIT_BLOCK);
	struct err err = {""};
	int pair[2], pipes[2], got[2];
	char byte;

	CU_ASSERT_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(pipes) == 0);
	CHECK_INT(unix_send_fds(pair[0], pipes, 2, &err), 0);
	CHECK_INT(unix_receive_fds(pair[1], got, 2, &wait, &err), 0);
	CHECK_INT(write(got[1], "p", 1), 1);
	CHECK_INT(read(pipes[0], &byte, 1), 1);
	CHECK_INT(byte, 'p');
	CHECK_INT(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	close(got[0]);
	close(got[1]);

	/* One instead of two: refused, and closed, so that the pipe ends with ours. */
	CHECK_INT(unix_send_fds(pair[0], &pipes[1], 1, &err), 0);
	CHECK_INT(unix_receive_fds(pair[1], got, 2, &wait, &err), -1);
	CHECK_TEXT(err.text, "receive descriptors: 2 expected, others or none came");
	close(pipes[1]);
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	CHECK_INT(read(pipes[0], &byte, 1), 0);
	/* None at all. */
	CHECK_INT(write(pair[0], "x", 1), 1);
	CHECK_INT(unix_receive_fds(pair[1], got, 1, &wait, &err), -1);
	close(pipes[0]);
	close(pair[0]);
	close(pair[1]);
}

/* The server's end of a channel of that kind; at the other is a process that echoes. */
static pid_t
open_server(const struct local_path *path, enum wait_how how, struct channel *server)
{
	const struct wait wait = soon(how);
	struct addr ip = any_ip();
	struct err err = {""};
	int listener = local_path_listen(path, &ip, &err);
	pid_t child;

	CHECK_TEXT(err.text, "");
	CU_ASSERT_FATAL(listener >= 0);
	child = fork();
	if (child == 0) { /* the client: an echo of all it is sent */
		struct channel client;
		char bytes[100];
		ssize_t got;

		if (local_path_connect(path, &ip, &wait, &client, NULL) < 0)
			_exit(1);
		while ((got = channel_receive(&client, bytes, sizeof(bytes), NULL)) > 0)
			if (channel_send(&client, bytes, (size_t)got, NULL) < 0)
				break;
		_exit(0);
	}
	fcntl(listener, F_SETFL, 0);
	CHECK_INT(
		local_path_accept(path, accept(listener, NULL, NULL), &wait, server, &err), 0);
	CHECK_TEXT(err.text, "");
	close(listener);
	return child;
}

static void
test_channels(void)
{
	static const enum local_way ways[] = {
		WAY_UNIX, WAY_SEQPACKET, WAY_DGRAM, WAY_SOCKETPAIR, WAY_PIPE};

	for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(*ways); i++) {
		struct local_path path = {.way = ways[i / 2]};
		enum wait_how how = i % 2 ? WAIT_SPIN : WAIT_BLOCK;
		struct channel server;
		struct err err = {""};
		char reply[6] = "";
		bool pipes = path.way == WAY_PIPE;
		pid_t child = open_server(&path, how, &server);

		CHECK_INT(server.in != server.out, pipes);
		CHECK_INT(server.control >= 0, path.way == WAY_DGRAM);
		CHECK_INT(!!(fcntl(server.in, F_GETFL) & O_NONBLOCK), how == WAIT_SPIN);
		CHECK_INT(channel_send(&server, "ab", 2, &err), 0);
		CHECK_INT(channel_send(&server, "cde", 3, &err), 0);
		CHECK_INT(channel_receive_all(&server, reply, 5, &err), 0);
		CHECK_TEXT(reply, "abcde");
		CHECK_TEXT(err.text, "");
		CU_ASSERT(local_path_buffer(&path, &server) > 0);
		channel_close(&server);
		channel_close(&server); /* harmless */
		kill(child, SIGKILL);
		CHECK_INT(waitpid(child, NULL, 0), child);
	}
}

/* A peer that is gone ends the wait of a channel of datagrams too, which has no end of its own.
 */
static void
test_peer_gone(void)
{
	int ends[2], control[2];
	struct channel channel;
	struct err err = {""};

	for (int how = WAIT_BLOCK; how <= WAIT_SPIN; how++) {
		struct wait wait = soon((enum wait_how)how);
		char byte;

		CU_ASSERT_FATAL(unix_datagram_pair(ends, &err) == 0);
		CU_ASSERT_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, control) == 0);
		CHECK_INT(
			channel_start(&channel, ends[0], ends[0], control[0], &wait, &err), 0);
		close(control[1]);
		CHECK_INT(channel_receive(&channel, &byte, 1, &err), -1);
		CHECK_TEXT(err.text, "receive: Connection reset by peer");
		channel_close(&channel);
		close(ends[1]);
	}
}

static void
test_deadline(void)
{
	struct wait wait = {.how = WAIT_SPIN, .deadline_ns = clock_now() + 20 * NS_PER_MS};
	struct channel channel;
	struct err err = {""};
	char byte;
	int pair[2];

	CU_ASSERT_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	CHECK_INT(channel_start(&channel, pair[0], pair[0], -1, &wait, &err), 0);
	CHECK_INT(channel_receive_all(&channel, &byte, 1, &err), -1);
	CHECK_TEXT(err.text, "receive: no answer before the deadline");
	CHECK_INT(write(pair[1], "x", 1), 1);
	close(pair[1]);
	CHECK_INT(channel_receive_all(&channel, (char[2]){0}, 2, &err), -1);
	CHECK_TEXT(err.text, "receive: the peer closed after 1 of 2 bytes");
	channel_close(&channel);
}

static void
test_refusals(void)
{
	static const struct {
		struct local_path path;
		const char *message;
	} rows[] = {
		{{.way = WAY_TCP, .nagle = true}, ""},
		{{.way = WAY_SEQPACKET, .file = "/tmp/x"}, ""},
		{{.way = WAY_UNIX, .nagle = true},
			"nodelay=off is of path=tcp: no other has Nagle's algorithm"},
		{{.way = WAY_PIPE, .file = "/tmp/x"},
			"file is of path=unix and path=seqpacket"},
		{{.way = WAY_UNIX, .file = ""}, "file: the path of a Unix socket is empty"},
	};
	struct local_path datagram = {.way = WAY_DGRAM}, stream = {.way = WAY_UNIX};
	struct err err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		err = (struct err){""};
		CHECK_INT(local_path_check(&rows[i].path, &err), *rows[i].message ? -1 : 0);
		CHECK_TEXT(err.text, rows[i].message);
	}
	CHECK_INT(local_path_takes(&datagram, 1000, &err), true);
	CHECK_INT(local_path_takes(&datagram, INT64_C(1) << 40, &err), false);
	CU_ASSERT(strstr(err.text, "net.core.wmem_default") != NULL);
	CHECK_INT(local_path_takes(&stream, INT64_C(1) << 40, &err), true);
}

/* The largest message that is said to fit does, and one byte more does not. */
static void
test_message_limit(void)
{
	struct local_path path = {.way = WAY_DGRAM};
	int64_t low = 1, high = INT64_C(1) << 40;
	int ends[2];
	char *bytes;

	while (low < high) {
		int64_t middle = (low + high + 1) / 2;

		if (local_path_takes(&path, middle, NULL))
			low = middle;
		else
			high = middle - 1;
	}
	bytes = calloc(1, (size_t)low + 1);
	CU_ASSERT_FATAL(bytes && unix_datagram_pair(ends, NULL) == 0);
	CHECK_INT(write(ends[0], bytes, (size_t)low + 1), -1);
	CHECK_INT(errno, EMSGSIZE);
	CHECK_INT(write(ends[0], bytes, (size_t)low), low);
	close(ends[0]);
	close(ends[1]);
	free(bytes);
}

/* Each wait for a pipe that another process fills is one. */
static void
test_switches(void)
{
	struct cpu_switches before, sum = {0};
	int pair[2];
	char byte;

	CU_ASSERT_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	if (fork() == 0) {
		close(pair[0]);
		while (read(pair[1], &byte, 1) == 1) {
			/* Longer than we may be kept from beginning to wait. */
			clock_sleep_until(clock_now() + 50 * NS_PER_MS);
			if (write(pair[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(pair[1]);
	cpu_switches(&before);
	for (int i = 0; i < 10; i++) {
		CHECK_INT(write(pair[0], "x", 1), 1);
		CHECK_INT(read(pair[0], &byte, 1), 1);
	}
	cpu_switches_add(&before, &sum);
	CHECK_BETWEEN(sum.waits, 10, 30);
	CU_ASSERT(sum.all >= sum.waits);
	close(pair[0]);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"names of Unix sockets", test_names},
		{"abstract sockets", test_abstract},
		{"descriptors are passed", test_passing},
		{"every kind of channel, blocking and spinning", test_channels},
		{"a peer that is gone", test_peer_gone},
		{"the deadline", test_deadline},
		{"what is refused", test_refusals},
		{"the longest message", test_message_limit},
		{"context switches", test_switches},
		CU_TEST_INFO_NULL,
	};

	return check_main("channel", tests);
}
