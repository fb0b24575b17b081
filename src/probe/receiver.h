/* The receiving half of probe datagram, and what it says to the sending half.
 *
 *   client                          receiver, on a control connection over TCP
 *   hello: how many, how long  ->   a socket for them of its own, fresh counters
 *                              <-   ready: its port
 *   N numbered messages, each with the time it was sent, to that port
 *   told: how many there were  ->   waits until all are here, or none came for a while
 *                              <-   the account
 *   told again                 ->
 *                              <-   the delay of each, -1 where it did not come
 *
 * In host byte order: with one clock for both, they are on one machine. */
#ifndef PROBE_RECEIVER_H
#define PROBE_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/probe.h"

#define RECEIVER_MAGIC INT64_C(0x646174616772616d)
#define RECEIVER_COUNT_MAX 10000000
#define RECEIVER_SIZE_MAX (1 << 20)

enum transport { TRANSPORT_UDP, TRANSPORT_TCP }; /* the option's order */

struct receiver_hello {
	int64_t magic;
	int64_t count, size, transport;
	int64_t port; /* UDP: from which the client sends */
};

/* At the start of each message; the rest of its `size` bytes is anything. */
struct receiver_message {
	int64_t number;
	int64_t sent_ns;
};

struct receiver_counts {
	int64_t delivered, in_order, duplicates, lost_network, lost_buffer;
	int64_t buffer_overflows; /* -1: the kernel does not show them */
};

struct receiver_answer {
	int64_t status; /* 0, or -1 and a reason */
	int64_t clock_ns, port;
	struct receiver_counts counts;
	char reason[ERR_TEXT_SIZE];
};

struct receiver_setting {
	enum transport transport;
	int64_t rcvbuf;   /* 0: the kernel's own choice */
	int64_t drain_ns; /* no message for so long, and two round trips more: the rest is lost
			   */
	int64_t work_ns;  /* what is slept behind each message, before the next is taken */
	bool spin;
};

/* Serve until call->stop_fd (0) or the deadline (-1), each client in a thread of its own; the
 * sums of all accounts go to *totals. PROBE_UNSUPPORTED where the kernel does not count what a
 * socket drops, does not give as much buffer, or has no IPv6. */
int receiver_run(const struct receiver_setting *setting, const struct probe_call *call,
	struct receiver_counts *totals, struct err *err);

#endif
