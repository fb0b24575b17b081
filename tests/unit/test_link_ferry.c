/* The ferry's loop in real time, between socket pairs that stand for TUN devices; lateness; and
 * what calibration does to a path. */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "link/calibrate.h"
#include "link/ferry.h"

#define MS NS_PER_MS

/* A ferry that runs in a child; the test holds the other ends of its "devices". */
struct rig {
	int ends[ENDS];
	int stop;
	pid_t child;
	struct stalls *shared; /* the child leaves them here */
	struct stalls stalls;  /* after rig_stop() */
};

static void
rig_start(struct rig *rig, const struct impairment *path, int stages)
{
	int pairs[ENDS][2], stop[2];
	pid_t parent = getpid();

	for (enum end end = NEAR; end < ENDS; end++) {
		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pairs[end]) < 0)
			abort();
		rig->ends[end] = pairs[end][0];
	}
	if (pipe(stop) < 0)
		abort();
	rig->stop = stop[1];
	rig->shared = mmap(NULL, sizeof(*rig->shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rig->shared == MAP_FAILED)
		abort();
	rig->child = fork();
	if (rig->child == 0) {
		int tun[ENDS] = {pairs[NEAR][1], pairs[FAR][1]};
		struct ferry *ferry = ferry_new(tun);
		int status;

		proc_die_with_parent(parent);
		close(stop[1]);
		for (int i = 0; i < stages; i++)
			for (enum direction way = UP; way < DIRECTIONS; way++)
				chain_add_path(ferry_chain(ferry, way), path);
		status = ferry_run(ferry, stop[0], NULL);
		*rig->shared = *ferry_stalls(ferry);
		ferry_free(ferry);
		_exit(status != 0);
	}
	close(stop[0]);
	for (enum end end = NEAR; end < ENDS; end++)
		close(pairs[end][1]);
}

/* Returns how long the ferry took to notice. */
static int64_t
rig_stop(struct rig *rig)
{
	int64_t start_ns = clock_now();
	int status = -1;

	close(rig->stop);
	waitpid(rig->child, &status, 0);
	CHECK_INT(status, 0);
	rig->stalls = *rig->shared;
	munmap(rig->shared, sizeof(*rig->shared));
	close(rig->ends[NEAR]);
	close(rig->ends[FAR]);
	return clock_now() - start_ns;
}

/* Receive one packet within a second: its first byte, or -1. */
static int
receive(int fd)
{
	struct pollfd poll_fd = {fd, POLLIN, 0};
	unsigned char bytes[2048];

	if (poll(&poll_fd, 1, 1000) <= 0 || recv(fd, bytes, sizeof(bytes), 0) <= 0)
		return -1;
	return bytes[0];
}

static bool
deliver(int fd, unsigned char first)
{
	unsigned char bytes[100] = {first};

	return send(fd, bytes, sizeof(bytes), 0) == sizeof(bytes);
}

static void
test_ten_stages_in_real_time(void)
{
	struct impairment path = {.delay_ns = 10 * MS};
	int64_t start_ns, rtt_ns = INT64_MAX;
	struct rig rig;

	rig_start(&rig, &path, 10);
	for (int i = 0; i < 3; i++) {
		start_ns = clock_now();
		CU_ASSERT(deliver(rig.ends[NEAR], 0x45));
		CHECK_INT(receive(rig.ends[FAR]), 0x45);
		CU_ASSERT(deliver(rig.ends[FAR], 0x45));
		CHECK_INT(receive(rig.ends[NEAR]), 0x45);
		if (clock_now() - start_ns < rtt_ns)
			rtt_ns = clock_now() - start_ns;
	}
	CHECK_BETWEEN(rtt_ns, 200 * MS, 220 * MS);
	rig_stop(&rig);
}

static void
test_many_in_flight_keep_order(void)
{
	struct impairment path = {.delay_ns = 20 * MS, .jitter_ns = 5 * MS};
	struct rig rig;

	rig_start(&rig, &path, 1);
	for (int i = 0; i < 200; i++) {
		struct pollfd fd = {rig.ends[NEAR], POLLOUT, 0};

		CHECK_INT(poll(&fd, 1, 1000), 1); /* unix sockets hold few datagrams */
		CU_ASSERT(deliver(rig.ends[NEAR], (unsigned char)i));
	}
	for (int i = 0; i < 200; i++)
		CHECK_INT(receive(rig.ends[FAR]), i);
	rig_stop(&rig);
}

static void
test_multicast_stays_out(void)
{
	struct impairment path = {0};
	unsigned char report[100] = {0x60, [24] = 0xff, [25] = 0x02};
	struct rig rig;

	rig_start(&rig, &path, 1);
	CU_ASSERT(send(rig.ends[NEAR], report, sizeof(report), 0) > 0);
	CU_ASSERT(deliver(rig.ends[NEAR], 0x61));
	CHECK_INT(receive(rig.ends[FAR]), 0x61);
	rig_stop(&rig);
}

static void
test_stops_at_once(void)
{
	struct impairment path = {.delay_ns = 1000 * MS};
	struct rig rig;

	rig_start(&rig, &path, 1);
	CU_ASSERT(deliver(rig.ends[NEAR], 1));
	CHECK_BETWEEN(rig_stop(&rig), 0, 900 * MS);
}

/* Hold the ferry still for `stop_ns`; a packet comes meanwhile. */
static void
rig_hold(struct rig *rig, int64_t stop_ns)
{
	int64_t start_ns = clock_now();
	int status;

	kill(rig->child, SIGSTOP);
	CHECK_INT(waitpid(rig->child, &status, WUNTRACED), rig->child);
	CU_ASSERT(deliver(rig->ends[NEAR], 1));
	clock_sleep_until(start_ns + stop_ns);
	kill(rig->child, SIGCONT);
	CHECK_INT(receive(rig->ends[FAR]), 1);
}

/* A stop is seen less what the ferry was going to sleep when it began, at most 10 ms. */
static void
test_stalls_are_seen(void)
{
	struct impairment path = {.delay_ns = 2 * MS};
	struct rig rig;

	rig_start(&rig, &path, 1);
	CU_ASSERT(deliver(rig.ends[NEAR], 1));
	CHECK_INT(receive(rig.ends[FAR]), 1);
	rig_hold(&rig, 50 * MS);
	rig_hold(&rig, 300 * MS);
	rig_hold(&rig, 50 * MS);
	rig_stop(&rig);
	CHECK_BETWEEN(rig.stalls.max_ns, 289 * MS, 600 * MS);
	CHECK_BETWEEN(rig.stalls.count, 3, 20);
}

/* Neither a long delay nor an idle link is a stall. */
static void
test_sleep_is_no_stall(void)
{
	struct impairment path = {.delay_ns = 200 * MS};
	struct rig rig;

	rig_start(&rig, &path, 1);
	CU_ASSERT(deliver(rig.ends[NEAR], 1));
	CHECK_INT(receive(rig.ends[FAR]), 1);
	clock_sleep_until(clock_now() + 200 * MS);
	rig_stop(&rig);
	CHECK_BETWEEN(rig.stalls.max_ns, 1, 180 * MS);
}

static void
test_lateness(void)
{
	static struct lateness lateness;

	CHECK_INT(lateness_quantile(&lateness, 500), 0);
	for (int64_t i = 1; i <= 100; i++)
		lateness_add(&lateness, i * 10 * NS_PER_US - 1);
	CHECK_INT(lateness_quantile(&lateness, 500), 500 * NS_PER_US);
	CHECK_INT(lateness_quantile(&lateness, 990), 990 * NS_PER_US);
	lateness_add(&lateness, 3 * NS_PER_S);
	CHECK_INT(lateness.max_ns, 3 * NS_PER_S);
	CHECK_INT(lateness_quantile(&lateness, 1000), 3 * NS_PER_S);
	CHECK_INT(lateness_quantile(&lateness, 500), 510 * NS_PER_US);
}

static void
test_calibrated_path(void)
{
	struct impairment path = {.delay_ns = 25 * MS, .loss_ppm = 5}, result;

	result = calibrated_path(&path, 100000);
	CHECK_INT(result.delay_ns, 24900000);
	CHECK_INT(result.loss_ppm, 5);
	CHECK_INT(result.limit_packets, impairment_limit(&path));
	/* Never below nothing, and jitter stays within the delay. */
	path.delay_ns = 50000;
	CHECK_INT(calibrated_path(&path, 100000).delay_ns, 0);
	path.jitter_ns = 20000;
	CHECK_INT(calibrated_path(&path, 100000).delay_ns, 20000);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"ten stages in real time", test_ten_stages_in_real_time},
		{"many in flight keep order", test_many_in_flight_keep_order},
		{"multicast stays out", test_multicast_stays_out},
		{"stops at once", test_stops_at_once},
		{"stalls are seen", test_stalls_are_seen},
		{"sleep is no stall", test_sleep_is_no_stall},
		{"lateness", test_lateness},
		{"calibrated path", test_calibrated_path},
		CU_TEST_INFO_NULL,
	};

	return check_main("link_ferry", tests);
}
