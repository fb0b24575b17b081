/* Addresses, TCP with deadlines, and the two sources of the socket census against each other.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "net/addr.h"
#include "net/census.h"
#include "net/cpu.h"
#include "net/tcp.h"

static void
round_trip(const char *text, int family, uint16_t port)
{
	struct addr addr;
	struct err err = {0};
	char again[ADDR_TEXT_SIZE];

	CHECK_INT(addr_parse(text, &addr, &err), 0);
	CHECK_INT(addr_family(&addr), family);
	CHECK_INT(addr_port(&addr), port);
	addr_format(&addr, again);
	CHECK_TEXT(again, text);
}

static void
test_addr_good(void)
{
	round_trip("127.0.0.1:80", AF_INET, 80);
	round_trip("198.18.0.2:0", AF_INET, 0);
	round_trip("255.255.255.255:65535", AF_INET, 65535);
	round_trip("[::1]:80", AF_INET6, 80);
	round_trip("[fd52:7474:6d61::2]:443", AF_INET6, 443);
	round_trip("[::]:1", AF_INET6, 1);
}

static void
test_addr_equal(void)
{
	static const char *const all[] = {"10.0.0.1:80", "10.0.0.1:81", "10.0.0.2:80",
		"[::1]:80", "[::1]:81", "[::2]:80", "[::ffff:10.0.0.1]:80"};
	size_t count = sizeof(all) / sizeof(*all);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++) {
			struct addr a, b;

			addr_parse(all[i], &a, NULL);
			addr_parse(all[j], &b, NULL);
			CHECK_INT(addr_equal(&a, &b), i == j);
		}
}

static void
test_addr_bad(void)
{
	static const char *const bad[] = {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
		"127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1: 80", "127.0.0.1:80 ", "127.1:80",
		"::1:80", "[::1]", "[::1]80", "[::1:80", "[127.0.0.1]:80", "[]:80", ":80",
		"localhost:80", "[fe80::1%lo]:80", "256.0.0.1:80",
		"127.0.0.1:99999999999999999999",
		"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]:80"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct addr addr;
		struct err err = {0};

		if (addr_parse(bad[i], &addr, &err) == 0)
			fprintf(stderr, "accepted '%s'\n", bad[i]);
		CHECK_INT(addr_parse(bad[i], &addr, NULL), -1);
	}
}

static void
test_addr_message(void)
{
	struct addr addr;
	struct err err = {0};

	addr_parse("localhost:80", &addr, &err);
	CHECK_TEXT(err.text,
		"'localhost:80' is not an address: expected one like 127.0.0.1:80 or [::1]:80");
}

/* A listener on any free port, or a failed check and -1. */
static int
listen_any(const char *text, int backlog, struct addr *bound)
{
	struct addr addr;
	struct err err = {0};
	int fd;

	addr_parse(text, &addr, NULL);
	fd = tcp_listen(&addr, backlog, bound, &err);
	CHECK_TEXT(err.text, "");
	return fd;
}

static void
exchange(const char *text, enum wait_how how)
{
	struct wait wait = {.how = how, .deadline_ns = clock_now() + 5 * NS_PER_S};
	struct wait peer_wait = {.how = WAIT_POLL, .deadline_ns = wait.deadline_ns};
	struct addr bound;
	struct err err = {0};
	char got[4] = "";
	int listener = listen_any(text, 8, &bound), client, server;

	client = tcp_socket(addr_family(&bound), how, &err);
	CHECK_INT(tcp_connect(client, &bound, &wait, &err), 0);
	server = accept(listener, NULL, NULL);
	CHECK_INT(tcp_send(client, "ping", 4, &wait, &err), 0);
	CHECK_INT(tcp_receive_all(server, got, 4, &peer_wait, &err), 0);
	CHECK_INT(memcmp(got, "ping", 4), 0);
	shutdown(server, SHUT_WR);
	CHECK_INT(tcp_receive(client, got, 4, &wait, &err), 0);
	CHECK_INT(tcp_receive_all(client, got, 4, &wait, &err), -1);
	CHECK_INT(errno, ECONNRESET);
	CHECK_TEXT(err.text, "receive: the peer closed the connection after 0 of 4 bytes");
	close(client);
	close(server);
	close(listener);
}

static void
test_exchange(void)
{
	exchange("127.0.0.1:0", WAIT_BLOCK);
	exchange("127.0.0.1:0", WAIT_SPIN);
	exchange("[::1]:0", WAIT_BLOCK);
	exchange("[::1]:0", WAIT_POLL);
}

static void
test_refused(void)
{
	struct wait wait = {.how = WAIT_BLOCK, .deadline_ns = clock_now() + 5 * NS_PER_S};
	struct addr bound;
	struct err err = {0};
	int fd = listen_any("127.0.0.1:0", 8, &bound);

	close(fd);
	fd = tcp_socket(AF_INET, WAIT_BLOCK, &err);
	CHECK_INT(tcp_connect(fd, &bound, &wait, &err), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_TEXT(err.text, "connect: Connection refused");
	CHECK_INT(tcp_lost(ECONNREFUSED), 0);
	CHECK_INT(tcp_lost(ETIMEDOUT), 1);
	close(fd);
}

/* Nothing ever comes: each way of waiting must end at the deadline. */
static void
end_at_deadline(enum wait_how how)
{
	int64_t start = clock_now();
	struct wait wait = {.how = how, .deadline_ns = start + 50 * NS_PER_MS};
	struct wait none = {.how = WAIT_BLOCK, .deadline_ns = start + 5 * NS_PER_S};
	struct addr bound;
	struct err err = {0};
	char byte;
	int listener = listen_any("127.0.0.1:0", 8, &bound);
	int client = tcp_socket(AF_INET, how, &err);

	CHECK_INT(tcp_connect(client, &bound, &none, &err), 0);
	CHECK_INT(deadline_arm(wait.deadline_ns, "too late\n", &err), 0);
	CHECK_INT(tcp_receive(client, &byte, 1, &wait, &err), -1);
	CHECK_INT(errno, ETIME);
	CHECK_TEXT(err.text, "receive: no answer before the deadline");
	CHECK_BETWEEN(clock_now() - start, 50 * NS_PER_MS, NS_PER_S);
	deadline_arm(clock_now() + 3600 * NS_PER_S, "", &err);
	close(client);
	close(listener);
}

static void
test_deadline(void)
{
	end_at_deadline(WAIT_BLOCK);
	end_at_deadline(WAIT_SPIN);
	end_at_deadline(WAIT_POLL);
}

/* A process that does not look at the clock is ended by the second signal. */
static void
test_backstop(void)
{
	int status = 0, ends[2];
	char text[32] = "";
	pid_t child;

	CHECK_INT(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		deadline_arm(clock_now() + 10 * NS_PER_MS, "deadline of 10ms passed\n", NULL);
		for (;;)
			pause();
	}
	close(ends[1]);
	waitpid(child, &status, 0);
	CHECK_INT(WIFEXITED(status) && WEXITSTATUS(status) == 1, 1);
	CU_ASSERT(read(ends[0], text, sizeof(text) - 1) > 0);
	CHECK_TEXT(text, "deadline of 10ms passed\n");
	close(ends[0]);
}

static void
test_facts(void)
{
	struct wait wait = {.how = WAIT_BLOCK, .deadline_ns = clock_now() + 5 * NS_PER_S};
	struct addr bound;
	struct err err = {0};
	char congestion[TCP_CONGESTION_SIZE];
	int64_t retransmits = -1;
	int listener = listen_any("127.0.0.1:0", 8, &bound);
	int client = tcp_socket(AF_INET, WAIT_BLOCK, &err);

	CHECK_INT(tcp_connect(client, &bound, &wait, &err), 0);
	CHECK_INT(tcp_retransmits(client, &retransmits, &err), 0);
	CHECK_INT(retransmits, 0);
	CHECK_INT(tcp_congestion(client, congestion, &err), 0);
	CU_ASSERT(strlen(congestion) > 0);
	close(client);
	close(listener);
}

/* A full backlog drops the SYN silently: the kernel's retransmission is what TCP_INFO counts.
 */
static void
test_syn_retransmit(void)
{
	struct wait wait = {.how = WAIT_POLL, .deadline_ns = clock_now() + 10 * NS_PER_S};
	struct addr bound;
	struct err err = {0};
	int64_t retransmits = -1;
	int listener = listen_any("127.0.0.1:0", 0, &bound);
	int first = tcp_socket(AF_INET, WAIT_POLL, &err);
	int late = tcp_socket(AF_INET, WAIT_POLL, &err);

	CHECK_INT(tcp_connect(first, &bound, &wait, &err), 0);
	CHECK_INT(tcp_connect_start(late, &bound, &err), 0);
	close(accept(listener, NULL, NULL));
	CHECK_INT(tcp_connect(late, &bound, &wait, &err), 0);
	CHECK_INT(tcp_retransmits(late, &retransmits, &err), 0);
	CHECK_INT(retransmits, 1);
	close(first);
	close(late);
	close(listener);
}

static void
compare_sources(const char *text, int count)
{
	struct wait wait = {.how = WAIT_POLL, .deadline_ns = clock_now() + 5 * NS_PER_S};
	struct addr bound;
	struct err err = {0};
	struct census diag, proc;
	int fds[32], listener = listen_any(text, 64, &bound);

	for (int i = 0; i < count; i++) {
		fds[i] = tcp_socket(addr_family(&bound), WAIT_POLL, &err);
		CHECK_INT(tcp_connect(fds[i], &bound, &wait, &err), 0);
	}
	/* One closed by the client alone: FIN_WAIT2 here, CLOSE_WAIT in the queue. */
	shutdown(fds[0], SHUT_WR);
	do
		CHECK_INT(census_from_proc(&bound, &proc, &err), 0);
	while (!proc.sockets[TCP_FIN_WAIT2] && clock_now() < wait.deadline_ns);
	CHECK_INT(proc.sockets[TCP_LISTEN], 1);
	CHECK_INT(proc.sockets[TCP_ESTABLISHED], 2 * (count - 1));
	CHECK_INT(proc.sockets[TCP_FIN_WAIT2], 1);
	CHECK_INT(proc.sockets[TCP_CLOSE_WAIT], 1);
	/* Whose end is whose: it was the client that closed. */
	CHECK_INT(proc.server[TCP_LISTEN], 1);
	CHECK_INT(proc.server[TCP_ESTABLISHED], count - 1);
	CHECK_INT(proc.server[TCP_FIN_WAIT2], 0);
	CHECK_INT(proc.server[TCP_CLOSE_WAIT], 1);
	CHECK_INT(census_open(proc.sockets), 2 * count);
	CHECK_INT(census_open(proc.server), count);
	if (census_from_diag(&bound, &diag, &err) == 0)
		for (int state = 0; state < CENSUS_STATES; state++)
			CHECK_INT(diag.sockets[state], proc.sockets[state]);
	else
		fprintf(stderr, "no inet_diag here: %s\n", err.text);
	for (int i = 0; i < count; i++)
		close(fds[i]);
	close(listener);
}

static void
test_census(void)
{
	compare_sources("127.0.0.1:0", 20);
	compare_sources("[::1]:0", 20);
	compare_sources("0.0.0.0:0", 1);
}

static void
test_cpu(void)
{
	struct err err = {0};
	int core = 7, status = 0;
	pid_t child;

	CHECK_INT(cpu_pin(CPU_ANY, CPU_CLIENT, &core, &err), 0);
	CHECK_INT(core, -1);
	child = fork();
	if (child == 0) {
		/* Once on one core, there is no second to split to. */
		if (cpu_pin(CPU_SAME, CPU_SERVER, &core, &err) < 0 || core < 0)
			_exit(1);
		_exit(cpu_pin(CPU_SPLIT, CPU_SERVER, &core, &err) == -1 ? 0 : 2);
	}
	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"addresses read and printed", test_addr_good},
		{"addresses refused", test_addr_bad},
		{"addresses compared", test_addr_equal},
		{"address message", test_addr_message},
		{"exchange", test_exchange},
		{"connection refused", test_refused},
		{"deadline", test_deadline},
		{"backstop", test_backstop},
		{"TCP_INFO", test_facts},
		{"SYN retransmission", test_syn_retransmit},
		{"census: inet_diag against /proc", test_census},
		{"cpu placement", test_cpu},
		CU_TEST_INFO_NULL,
	};

	signal(SIGPIPE, SIG_IGN);
	return check_main("net", tests);
}
