/* A small caching resolver, as a laptop or a node has one near by: UDP, one server behind it.
 *
 * A reply with answers is kept for the least of their times to live and handed out with what is
 * left of it. Anything else (no such name, a failure, a reply cut short) is passed on each
 * time.
 */
#ifndef PROBE_CACHE_H
#define PROBE_CACHE_H

#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"
#include "probe/probe.h"

struct cache_counts {
	int64_t queries;   /* asked of the cache */
	int64_t forwarded; /* asked by it of the server behind */
	int64_t malformed; /* messages of either side that are none */
};

struct cache;

/* Bound to `listen`, not yet answering; cache_free() it. NULL with an error. */
struct cache *cache_new(const struct addr *listen, const struct addr *server, struct err *err);
void cache_free(struct cache *cache);

const struct addr *cache_bound(const struct cache *cache);
struct cache_counts cache_counts(const struct cache *cache);

/* Answer until `stop_fd` is readable (0), or the deadline passes (-1). */
int cache_run(struct cache *cache, int stop_fd, int64_t deadline_ns, struct err *err);

/* A serving half: a cache at call->addr in front of `server`, that prints its counters. */
int cache_serve(const struct probe_call *call, const struct addr *server, struct err *err);

/* Answer in a thread of its own, on the cores of the caller, until cache_free(). */
int cache_start(struct cache *cache, struct err *err);

/* End the thread; the counters are final. */
void cache_stop(struct cache *cache);

#endif
