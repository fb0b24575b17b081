/* What a watch keeps of the sockets of its end. */
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "net/tcp.h"
#include "probe/watch.h"

#define PAIRS 5

/* Connections to a listener of ours, both ends of them, each end with its watch. */
struct ends {
	int listener, client[PAIRS], server[PAIRS];
	struct addr bound;
	struct watch near, far;
};

static void
open_ends(struct ends *ends)
{
	struct wait wait = {.how = WAIT_POLL, .deadline_ns = clock_now() + 5 * NS_PER_S};
	struct addr any;
	struct err err = {0};

	*ends = (struct ends){
		.near = {.end = WATCH_CLIENT, .every_ns = NS_PER_MS},
		.far = {.end = WATCH_SERVER, .every_ns = NS_PER_MS},
	};
	CHECK_INT(addr_parse("127.0.0.1:0", &any, &err), 0);
	ends->listener = tcp_listen(&any, PAIRS, &ends->bound, &err);
	CHECK_INT(watch_start(&ends->near, &ends->bound, &err), 0);
	CHECK_INT(watch_start(&ends->far, &ends->bound, &err), 0);
	for (int i = 0; i < PAIRS; i++) {
		ends->client[i] = tcp_socket(AF_INET, WAIT_POLL, &err);
		CHECK_INT(tcp_connect(ends->client[i], &ends->bound, &wait, &err), 0);
		ends->server[i] = accept(ends->listener, NULL, NULL);
	}
	CHECK_INT(watch_look(&ends->near, &err), 0);
	CHECK_INT(watch_look(&ends->far, &err), 0);
}

static void
stop_watches(struct ends *ends)
{
	struct err err = {0};

	CHECK_INT(watch_drain(&ends->near, 0, false, clock_now() + NS_PER_S, &err), 0);
	CHECK_INT(watch_drain(&ends->far, 0, false, clock_now() + NS_PER_S, &err), 0);
	CHECK_INT(watch_stop(&ends->near, &err), 0);
	CHECK_INT(watch_stop(&ends->far, &err), 0);
	close(ends->listener);
}

static void
test_close(void)
{
	struct ends ends;

	open_ends(&ends);
	for (int i = 0; i < PAIRS; i++)
		close(ends.client[i]);
	for (int i = 0; i < PAIRS; i++)
		close(ends.server[i]);
	stop_watches(&ends);
	CHECK_INT(ends.near.peak[TCP_ESTABLISHED], PAIRS);
	CHECK_INT(ends.far.peak[TCP_ESTABLISHED], PAIRS);
	CHECK_INT(ends.near.now[TCP_TIME_WAIT], PAIRS);
	CHECK_INT(ends.far.peak[TCP_TIME_WAIT], 0);
	CHECK_INT(ends.far.peak[TCP_LISTEN], 1);
	CHECK_INT(ends.near.peak[TCP_LISTEN], 0);
	CHECK_INT(ends.near.empty_ns, 0);
	CHECK_INT(ends.far.empty_ns > ends.far.open_ns, 1);
}

static void
test_reset(void)
{
	struct ends ends;
	struct err err = {0};

	open_ends(&ends);
	for (int i = 0; i < PAIRS; i++) {
		CHECK_INT(tcp_linger_zero(ends.client[i], &err), 0);
		close(ends.client[i]);
		close(ends.server[i]);
	}
	stop_watches(&ends);
	CHECK_INT(ends.near.peak[TCP_ESTABLISHED], PAIRS);
	CHECK_INT(ends.near.peak[TCP_TIME_WAIT], 0);
	CHECK_INT(ends.far.peak[TCP_TIME_WAIT], 0);
	CHECK_INT(census_open(ends.near.now), 0);
	CHECK_INT(ends.near.empty_ns > ends.near.open_ns, 1);
}

/* Only so long as it was given, and not at all beyond the deadline. */
static void
test_drain(void)
{
	struct ends ends;
	struct err err = {0};
	int64_t start;

	open_ends(&ends);
	for (int i = 0; i < PAIRS; i++) {
		close(ends.client[i]);
		close(ends.server[i]);
	}
	CHECK_INT(watch_drain(&ends.near, 10 * NS_PER_S, false, clock_now() + NS_PER_S, &err),
		-1);
	start = clock_now();
	CHECK_INT(
		watch_drain(&ends.near, 50 * NS_PER_MS, false, start + 9 * NS_PER_S, &err), 0);
	CHECK_INT(clock_now() - start >= 50 * NS_PER_MS, 1);
	/* Nothing waits at the other end: there is nothing to wait for. */
	start = clock_now();
	CHECK_INT(watch_drain(&ends.far, 8 * NS_PER_S, false, start + 9 * NS_PER_S, &err), 0);
	CHECK_INT(clock_now() - start < 8 * NS_PER_S, 1);
	stop_watches(&ends);
	CHECK_INT(ends.near.now[TCP_TIME_WAIT], PAIRS);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"closed", test_close},
		{"reset", test_reset},
		{"drained", test_drain},
		CU_TEST_INFO_NULL,
	};

	return check_main("watch", tests);
}
