/* What the kernel's tables say, and a datagram of our own in them. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "net/traffic.h"
#include "net/udp.h"

static const char dev[] =
	"Inter-|   Receive                                                |  Transmit\n"
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
	"drop fifo colls carrier compressed\n"
	"    lo: 8262498380 18598960    0    0    0     0          0         0 8262498380 18598960 "
	"   0    0    0     0       0          0\n"
	" link0:1000 20 0 0 0 0 0 0 5000000000 30 0 0 0 0 0 0\n"
	"link01: 7 7 0 0 0 0 0 0 7 7 0 0 0 0 0 0\n";

static struct traffic
parse(const char *name, bool loopback, bool ethernet)
{
	struct traffic_device device = {.loopback = loopback, .ethernet = ethernet};
	struct traffic traffic = {-1, -1};
	struct err err = {0};

	snprintf(device.name, sizeof(device.name), "%s", name);
	CHECK_INT(traffic_parse(dev, &device, &traffic, &err), 0);
	return traffic;
}

static void
test_device(void)
{
	CHECK_INT(parse("lo", true, false).bytes, 8262498380);
	CHECK_INT(parse("lo", true, false).packets, 18598960);
	CHECK_INT(parse("link0", false, false).bytes, 5000001000);
	CHECK_INT(parse("link0", false, false).packets, 50);
	CHECK_INT(parse("link0", false, true).bytes, 5000001000 - 50 * 14);
	CHECK_INT(parse("link01", false, false).packets, 14);
}

static void
test_no_device(void)
{
	static const char *const texts[] = {"", "\n", dev, "eth0: 1 2 3\n", "eth0:"};
	struct traffic_device device = {.name = "eth0"};
	struct traffic traffic;
	struct err err;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		CHECK_INT(traffic_parse(texts[i], &device, &traffic, &err), -1);
		CHECK_TEXT(err.text, "/proc/net/dev has no counters of eth0");
	}
}

static const char snmp[] =
	"Icmp: InMsgs InErrors\nIcmp: 1 2\n"
	"Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors "
	"IgnoredMulti MemErrors\n"
	"Udp: 9 0 991 1000 987 5 4 0 6\n"
	"UdpLite: InDatagrams RcvbufErrors InCsumErrors\nUdpLite: 1 2 3\n";

static const char snmp6[] =
	"Ip6InReceives                   \t3\n"
	"Udp6RcvbufErrors                \t77\nUdp6SndbufErrors                \t0\n"
	"Udp6MemErrors                   \t2\nUdpLite6RcvbufErrors \t1\n";

static int64_t
overflows(int family, const char *text)
{
	struct err err = {0};
	int64_t value = -1;

	CHECK_INT(traffic_parse_udp_overflows(family, text, &value, &err), 0);
	return value;
}

static void
test_udp(void)
{
	CHECK_INT(overflows(AF_INET, snmp), 987 + 6);
	CHECK_INT(overflows(AF_INET6, snmp6), 77 + 2);
	/* Before MemErrors was there. */
	CHECK_INT(overflows(AF_INET, "\nUdp: NoPorts RcvbufErrors\nUdp: 1 2\n"), 2);
	CHECK_INT(overflows(AF_INET6, "\nUdp6RcvbufErrors \t3\n"), 3);
}

static void
test_no_udp(void)
{
	static const char *const texts[] = {"", "\nUdp: InDatagrams\nUdp: 1\n",
		"\nUdp: NoPorts RcvbufErrors\n", "\nUdp: NoPorts RcvbufErrors\nUdp: 1\n",
		"\nUdp6RcvbufErrors\n", "\nUdp6RcvbufErrorsToo 1\n"};
	struct err err;
	int64_t value;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		CHECK_INT(traffic_parse_udp_overflows(AF_INET, texts[i], &value, &err), -1);
		CHECK_INT(traffic_parse_udp_overflows(AF_INET6, texts[i], &value, &err), -1);
		CHECK_TEXT(err.text, "the kernel shows no UDP overflows of this namespace");
	}
}

/* The loopback of this machine: others may use it too, so at least what we sent. */
static void
test_this_machine(const char *text, int headers)
{
	struct addr any, bound;
	struct traffic_device device;
	struct traffic before = {0}, after = {0};
	int64_t value = -1;
	struct err err = {0};
	char bytes[1000] = {0};
	int fd, from;

	addr_parse(text, &any, NULL);
	fd = udp_bind(&any, &bound, &err);
	from = udp_connect(&bound, &err);
	CHECK_INT(traffic_find(&bound, &bound, &device, &err), 0);
	CHECK_INT(device.loopback, true);
	CHECK_INT(device.ethernet, false);
	CHECK_INT(traffic_read(&device, &before, &err), 0);
	CHECK_INT(send(from, bytes, sizeof(bytes), 0), 1000);
	CHECK_INT(traffic_read(&device, &after, &err), 0);
	CHECK_BETWEEN(after.packets - before.packets, 1, 1e9);
	CHECK_BETWEEN(after.bytes - before.bytes, 1000 + headers, 1e12);
	CHECK_INT(traffic_udp_overflows(addr_family(&any), &value, &err), 0);
	CHECK_BETWEEN(value, 0, 1e12);
	CHECK_TEXT(err.text, "");
	close(fd);
	close(from);
}

static void
test_loopback(void)
{
	test_this_machine("127.0.0.1:0", 28);
	test_this_machine("[::1]:0", 48);
}

static void
test_no_such_address(void)
{
	struct traffic_device device;
	struct addr ours, theirs;
	struct err err;

	addr_parse("192.0.2.77:1", &ours, NULL);
	addr_parse("192.0.2.78:1", &theirs, NULL);
	CHECK_INT(traffic_find(&ours, &theirs, &device, &err), -1);
	CHECK_TEXT(err.text, "no interface has the address of 192.0.2.77:1");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"counters of a device", test_device},
		{"a device that is not there", test_no_device},
		{"overflows of UDP", test_udp},
		{"no overflows of UDP", test_no_udp},
		{"the loopback here", test_loopback},
		{"an address nobody has", test_no_such_address},
		CU_TEST_INFO_NULL,
	};

	return check_main("traffic", tests);
}
