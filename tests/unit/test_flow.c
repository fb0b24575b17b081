/* What is computed from readings of TCP_INFO, and socket buffers as the kernel has them. */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "net/sockbuf.h"
#include "probe/flow.h"

static void
test_interval(void)
{
	/* Whole round trips, at least 16; as long as asked for when there are more. */
	CHECK_INT(flow_interval(NS_PER_MS, 50 * NS_PER_MS), 800 * NS_PER_MS);
	CHECK_INT(flow_interval(800 * NS_PER_MS, 50 * NS_PER_MS), 800 * NS_PER_MS);
	CHECK_INT(flow_interval(801 * NS_PER_MS, 50 * NS_PER_MS), 850 * NS_PER_MS);
	CHECK_INT(flow_interval(500 * NS_PER_MS, 500 * NS_PER_US), 500 * NS_PER_MS);
	CHECK_INT(flow_interval(500 * NS_PER_MS, 7 * NS_PER_MS), 504 * NS_PER_MS);
	CHECK_INT(flow_interval(500 * NS_PER_MS, 0), 500 * NS_PER_MS);
}

/* A reading of a flow that carries `window` bytes in 50 ms, `at` ms after its start. */
static struct tcp_info
reading(uint32_t window, uint64_t at)
{
	return (struct tcp_info){
		.tcpi_bytes_acked = 1000000 + window * at / 50,
		.tcpi_rtt = 50000,
		.tcpi_snd_wnd = window,
		.tcpi_rwnd_limited = 7000 + 400 * at,
		.tcpi_sndbuf_limited = 3000 + 100 * at,
	};
}

static void
test_window_limited(void)
{
	struct tcp_info readings[] = {
		reading(80000, 0), reading(80000, 400), reading(80000, 800)};
	struct flow flow;

	flow_evaluate(readings, 3, 800 * NS_PER_MS, &flow);
	CHECK_INT(flow.throughput, 1600000);
	CHECK_INT(flow.window, 80000);
	CHECK_INT(flow.window_used, 1000);
	CHECK_INT(flow.srtt_ns, 50 * NS_PER_MS);
	CHECK_INT(flow.rwnd_limited, 400);
	CHECK_INT(flow.sndbuf_limited, 100);
}

/* Half of the window is enough for another limit; the first reading is only a start. */
static void
test_other_limit(void)
{
	struct tcp_info readings[] = {
		reading(80000, 0), reading(80000, 400), reading(80000, 800)};
	struct flow flow;

	readings[0].tcpi_snd_wnd = 1;
	readings[0].tcpi_rtt = 1;
	readings[1].tcpi_snd_wnd = 120000;
	readings[2].tcpi_snd_wnd = 200000;
	flow_evaluate(readings, 3, 800 * NS_PER_MS, &flow);
	CHECK_INT(flow.window, 160000);
	CHECK_INT(flow.window_used, 500);
	CHECK_INT(flow.srtt_ns, 50 * NS_PER_MS);
}

static void
test_no_window(void)
{
	struct tcp_info readings[] = {reading(0, 0), reading(0, 800)};
	struct flow flow;

	flow_evaluate(readings, 2, 800 * NS_PER_MS, &flow);
	CHECK_INT(flow.window_used, 0);
	CHECK_INT(flow.throughput, 0);
}

static void
test_sockbuf(void)
{
	static const struct {
		enum sockbuf which;
		const char *limit;
	} kinds[] = {{SOCKBUF_SEND, "wmem_max"}, {SOCKBUF_RECEIVE, "rmem_max"}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	for (int i = 0; i < 2; i++) {
		struct err err = {0};
		int64_t bytes = 0;

		CHECK_INT(sockbuf_set(fd, kinds[i].which, 16384, &err), 0);
		CHECK_INT(sockbuf_get(fd, kinds[i].which, &bytes, &err), 0);
		CHECK_INT(bytes, 32768);
		/* Less than the kernel's least: it gives more, which is no refusal. */
		CHECK_INT(sockbuf_set(fd, kinds[i].which, 1, &err), 0);
		CHECK_INT(sockbuf_get(fd, kinds[i].which, &bytes, &err), 0);
		CHECK_BETWEEN(bytes, 2, 16384);
		errno = 0;
		CHECK_INT(sockbuf_set(fd, kinds[i].which, INT64_C(1) << 30, &err), -1);
		CHECK_INT(errno, ENOBUFS);
		CU_ASSERT(strstr(err.text, kinds[i].limit) != NULL);
	}
	close(fd);
}

static void
test_sockbuf_of_no_socket(void)
{
	struct err err = {0};
	int64_t bytes;

	CHECK_INT(sockbuf_set(-1, SOCKBUF_SEND, 16384, &err), -1);
	CHECK_TEXT(err.text, "set SO_SNDBUF: Bad file descriptor");
	CHECK_INT(sockbuf_get(-1, SOCKBUF_RECEIVE, &bytes, &err), -1);
	CHECK_TEXT(err.text, "read SO_RCVBUF: Bad file descriptor");
}

int
main(void)
{
	static CU_TestInfo tests[] = {
		{"whole round trips", test_interval},
		{"the window is the limit", test_window_limited},
		{"something else is", test_other_limit},
		{"no window", test_no_window},
		{"buffers as the kernel has them", test_sockbuf},
		{"buffers of no socket", test_sockbuf_of_no_socket},
		CU_TEST_INFO_NULL,
	};

	return check_main("flow", tests);
}
