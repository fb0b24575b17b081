/* The kernel's counters: found by name, also by the program that reads this very kernel's. */
#include "net/netstat.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "net/tcp_option.h"

static const char text[] = "TcpExt: SyncookiesSent DelayedACKs DelayedACKLocked\n"
			   "TcpExt: 0 4711 3\n"
			   "IpExt: InNoRoutes InOctets DelayedACKs\n"
			   "IpExt: 5 9223372036854775807 7\n"
			   "MPTcpExt: A B\n"
			   "MPTcpExt: 1\n";

static void
found(const char *group, const char *name, int64_t expected)
{
	struct err err = {""};
	int64_t value = -1;

	CHECK_INT(netstat_find("/proc/net/netstat", text, group, name, &value, &err), 0);
	CHECK_INT(value, expected);
}

static void
missing(const char *from, const char *group, const char *name, const char *words)
{
	struct err err = {""};
	int64_t value = -1;

	CHECK_INT(netstat_find("/proc/net/netstat", from, group, name, &value, &err), -1);
	CHECK_TEXT(err.text, words);
	CHECK_INT(value, -1);
}

static void
test_find(void)
{
	found("TcpExt", "SyncookiesSent", 0);
	found("TcpExt", "DelayedACKs", 4711);
	found("TcpExt", "DelayedACKLocked", 3);
	found("IpExt", "InOctets", INT64_MAX);
	found("IpExt", "DelayedACKs", 7);
	found("MPTcpExt", "A", 1);
}

static void
test_missing(void)
{
	missing(text, "TcpExt", "DelayedACK",
		"/proc/net/netstat has no counter DelayedACK of TcpExt");
	missing(text, "Tcp", "DelayedACKs",
		"/proc/net/netstat has no counter DelayedACKs of Tcp");
	missing(text, "MPTcpExt", "B", "/proc/net/netstat has no counter B of MPTcpExt");
	missing("TcpExt: A\n", "TcpExt", "A", "/proc/net/netstat has no counter A of TcpExt");
	missing("TcpExt: A\nIpExt: 1\n", "TcpExt", "A",
		"/proc/net/netstat has no counter A of TcpExt");
	missing("TcpExt: A\nTcpExt: x\n", "TcpExt", "A",
		"/proc/net/netstat has no counter A of TcpExt");
	missing("TcpExt:\nTcpExt:\n", "TcpExt", "A",
		"/proc/net/netstat has no counter A of TcpExt");
	missing("", "TcpExt", "A", "/proc/net/netstat has no counter A of TcpExt");
}

static void
test_this_kernel(void)
{
	struct err err = {""};
	int64_t value = -1;

	CHECK_INT(netstat_read("TcpExt", "DelayedACKs", &value, &err), 0);
	CHECK_TEXT(err.text, "");
	CHECK_BETWEEN(value, 0, INT64_MAX);
	CHECK_INT(netstat_read("TcpExt", "NoSuchCounter", &value, &err), -1);
}

static void
test_options(void)
{
	struct err err = {""};
	struct tcp_info info = {.tcpi_segs_out = 99};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 0;
	socklen_t len = sizeof(on);

	CHECK_INT(tcp_set_option(fd, TCP_CORK, 1, "TCP_CORK", &err), 0);
	CHECK_INT(getsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, &len), 0);
	CHECK_INT(on, 1);
	CHECK_INT(tcp_read_info(fd, &info, &err), 0);
	CHECK_INT(info.tcpi_segs_out, 0);
	close(fd);
	CHECK_INT(tcp_set_option(fd, TCP_CORK, 0, "TCP_CORK", &err), -1);
	CHECK_TEXT(err.text, "set TCP_CORK to 0: Bad file descriptor");
	CHECK_INT(tcp_read_info(fd, &info, &err), -1);
	CHECK_TEXT(err.text, "read TCP_INFO: Bad file descriptor");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"find", test_find},
		{"missing", test_missing},
		{"this kernel", test_this_kernel},
		{"options", test_options},
		CU_TEST_INFO_NULL,
	};

	return check_main("netstat", tests);
}
