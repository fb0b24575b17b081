/* One TCP flow between two moments, as the sender's TCP_INFO has it. */
#ifndef PROBE_FLOW_H
#define PROBE_FLOW_H

#include <stdint.h>

#define FLOW_LEAST_ROUND_TRIPS 16 /* two rounds of bbr's eight pacing gains */

struct tcp_info; /* <linux/tcp.h> */

struct flow {
	int64_t throughput; /* bytes_per_s acknowledged */
	int64_t window;     /* the peer's, mean of the readings */
	int64_t srtt_ns;    /* mean of the readings */

	/* In thousandths: of the window, what throughput x srtt fills; of the time, that in
	 * which the window or our own buffer was the limit. */
	int64_t window_used, rwnd_limited, sndbuf_limited;
};

/* How long to measure: at least this long, in a whole number of round trips, so that it does
 * not matter where in a burst it begins. With an unknown round trip (0), just as long. */
int64_t flow_interval(int64_t least_ns, int64_t rtt_ns);

/* What lies between readings[0] and readings[count - 1], which are `took_ns` > 0 apart; at
 * least two. Means are of all but the first. */
void flow_evaluate(
	const struct tcp_info *readings, int count, int64_t took_ns, struct flow *flow);

#endif
