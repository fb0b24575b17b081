/* Workers that send HTTP/1.1 requests over one pool of connections, each one at a time.
 *
 * All of them are one thread and one epoll loop. Each turn of it has two halves: first every
 * reply that has come is read and its connection given back, then those workers that were
 * answered want their next one. So the pool sees returns and wants as it does with threads,
 * where both are under way at any time; would each worker go on at once, it would only ever
 * find the connection it just gave back, and the smallest pool would do. */
#ifndef PROBE_WORKERS_H
#define PROBE_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"
#include "net/tcp.h"
#include "probe/conn_pool.h"

struct workers_plan {
	const struct addr *peer;
	const char *path, *host;
	size_t workers;
	enum pool_policy policy;
	size_t idle_max, open_max; /* of the pool; open_max 0: no cap */
	bool waves; /* start all together, again once all were answered; else each goes on */
	bool server_closes; /* ask for `Connection: close`, and wait until it was */
	bool reset;         /* close with a reset (SO_LINGER 0) */
	int64_t requests;
	bool spin;
	int64_t deadline_ns;
};

struct workers_result {
	int64_t *request_ns; /* from wanting a connection to the end of the reply */
	int64_t *wait_ns;    /* of that, until there was one; 0 for an idle one */
	size_t count;        /* of either: requests answered, in the order they were */
	int64_t total_ns;
	int64_t lost; /* requests */
	int64_t connects, closed_idle, lost_idle, reconnects;
	char congestion[TCP_CONGESTION_SIZE];
};

/* Send all requests, and close every connection. A request that the path lost is counted; a
 * reply that is wrong, a refused connection or no answer to any request is an error. Free the
 * result with workers_free() either way. */
int workers_run(
	const struct workers_plan *plan, struct workers_result *result, struct err *err);
void workers_free(struct workers_result *result);

#endif
