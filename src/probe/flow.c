/* What a flow did, computed from readings of TCP_INFO. */
#include "probe/flow.h"

#include <linux/tcp.h>

#include "base/clock.h"

int64_t
flow_interval(int64_t least_ns, int64_t rtt_ns)
{
	int64_t round_trips;

	if (rtt_ns <= 0)
		return least_ns;
	round_trips = (least_ns + rtt_ns - 1) / rtt_ns;
	if (round_trips < FLOW_LEAST_ROUND_TRIPS)
		round_trips = FLOW_LEAST_ROUND_TRIPS;
	return round_trips * rtt_ns;
}

/* The kernel counts these in microseconds. */
static int64_t
share(uint64_t first_us, uint64_t last_us, int64_t took_ns)
{
	return (int64_t)((double)(last_us - first_us) * 1e3 * 1e3 / (double)took_ns);
}

void
flow_evaluate(const struct tcp_info *readings, int count, int64_t took_ns, struct flow *flow)
{
	const struct tcp_info *first = readings, *last = &readings[count - 1];
	double acked = (double)(last->tcpi_bytes_acked - first->tcpi_bytes_acked);
	double window = 0, srtt_us = 0, throughput = acked * 1e9 / (double)took_ns;

	for (int i = 1; i < count; i++) {
		window += readings[i].tcpi_snd_wnd;
		srtt_us += readings[i].tcpi_rtt;
	}
	window /= count - 1;
	srtt_us /= count - 1;
	flow->throughput = (int64_t)throughput;
	flow->window = (int64_t)window;
	flow->srtt_ns = (int64_t)(srtt_us * 1e3);
	flow->window_used = window > 0
				    ? (int64_t)(throughput * srtt_us / 1e6 / window * 1e3 + 0.5)
				    : 0;
	flow->rwnd_limited = share(first->tcpi_rwnd_limited, last->tcpi_rwnd_limited, took_ns);
	flow->sndbuf_limited = share(
		first->tcpi_sndbuf_limited, last->tcpi_sndbuf_limited, took_ns);
}
