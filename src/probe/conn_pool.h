/* The books of a client's connection pool: which connections are idle, and which workers wait
 * for one. Connections and workers are numbers here; nothing is opened or closed.
 *
 *   take()    an idle one; else a new one for the worker to open; else, at the cap, it waits
 *   give()    to the worker that has waited longest; else it is idle; else to be closed
 *   closed()  the worker that has waited longest opens another
 */
#ifndef PROBE_CONN_POOL_H
#define PROBE_CONN_POOL_H

#include <stddef.h>

#include "base/ring.h"

/* Which of the idle connections is used next, in the order of the option `policy=lifo|fifo`. */
enum pool_policy {
	POOL_LIFO, /* the one that came back last */
	POOL_FIFO, /* the one that has been idle longest */
};

enum pool_answer {
	POOL_REUSE,  /* take(): here is an idle connection */
	POOL_OPEN,   /* take(), closed(): the worker is to open this one */
	POOL_WAIT,   /* take(): the cap is reached; the worker is in the queue */
	POOL_HAND,   /* give(): this worker, which waited, gets the connection */
	POOL_KEEP,   /* give(): the connection is idle now */
	POOL_CLOSE,  /* give(): there are idle ones enough; it is no longer in the pool */
	POOL_NOBODY, /* closed(): no worker waits */
};

struct conn_pool {
	enum pool_policy policy;
	size_t idle_max; /* connections kept idle */
	size_t open_max; /* open, those being opened included */
	size_t open;
	struct ring idle, waiting, unused; /* unused: numbers of connections not open */
};

/* A pool for `workers` workers; open_max 0: no cap. Free it with conn_pool_free(). */
void conn_pool_init(struct conn_pool *pool, enum pool_policy policy, size_t workers,
	size_t idle_max, size_t open_max);
void conn_pool_free(struct conn_pool *pool);

/* Connections are numbered from 0 to one below this. */
size_t conn_pool_numbers(const struct conn_pool *pool);

/* A worker needs a connection: *conn, unless it is to wait. */
enum pool_answer conn_pool_take(struct conn_pool *pool, size_t worker, size_t *conn);

/* A connection comes back and can be used again; *worker is set for POOL_HAND. */
enum pool_answer conn_pool_give(struct conn_pool *pool, size_t conn, size_t *worker);

/* A connection in use was closed. POOL_OPEN: *worker, which waited, may open *opened now. */
enum pool_answer conn_pool_closed(
	struct conn_pool *pool, size_t conn, size_t *worker, size_t *opened);

/* An idle connection is gone: its peer closed it. */
void conn_pool_forget(struct conn_pool *pool, size_t conn);

#endif
