/* Looks up names with c-ares, as programs do, with everything said that it would otherwise take
 * from the machine: servers, order, hosts file, retries, deadline. Neither /etc/resolv.conf,
 * /etc/nsswitch.conf and /etc/hosts nor RES_OPTIONS, LOCALDOMAIN, HOSTALIASES and CARES_HOSTS
 * in the environment change anything. */
#ifndef NET_LOOKUP_H
#define NET_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"
#include "net/wait.h"

#define LOOKUP_SERVERS_MAX 4
#define LOOKUP_ADDRS_MAX 16

/* How a resolver is set up. */
struct lookup_setting {
	struct addr servers[LOOKUP_SERVERS_MAX]; /* asked in this order */
	size_t server_count;
	const char *hosts; /* path of a file like /etc/hosts: asked instead of the servers */
	int64_t retry_ns;  /* without a reply for so long, a query is sent again or to the next
			      server; twice as long the next time round */
	int tries;         /* of each server, at least 1 */
	bool keep_sockets; /* one socket for all lookups instead of a new one each */
	bool cache;        /* c-ares's own query cache; see lookup_has_cache() */
};

enum lookup_outcome {
	LOOKUP_ANSWERED,
	LOOKUP_TIMEOUT, /* no reply before the deadline, or before c-ares gave up */
	LOOKUP_REFUSED, /* nobody listens there, or the server answers REFUSED; c-ares 1.18 also
			   says so of a SERVFAIL when there was more than one try */
	LOOKUP_SERVFAIL, /* the server says that it failed */
	LOOKUP_NXDOMAIN, /* there is no such name, or no such record of it */
	LOOKUP_WRONG,    /* the reply cannot be read, or anything else */
};

struct lookup_result {
	enum lookup_outcome outcome;
	const char *reason; /* c-ares's words; "" for LOOKUP_ANSWERED */
	int64_t start_ns;   /* before the call */
	int64_t end_ns;     /* when c-ares had the result, or the deadline passed */
	int64_t attempts;   /* queries sent, over UDP and TCP */
	struct addr addrs[LOOKUP_ADDRS_MAX];
	size_t addr_count;
};

struct lookup;

/* Ready to look up; lookup_free() it. NULL with an error. Forgets the variables above. */
struct lookup *lookup_new(const struct lookup_setting *setting, struct err *err);
void lookup_free(struct lookup *lookup);

/* Look up the addresses of `name` in `family` (AF_INET, AF_INET6, AF_UNSPEC: both), with `port`
 * in them, until wait->deadline_ns. 0 with a result, whatever its outcome; -1 when this machine
 * cannot (no socket). */
int lookup_name(struct lookup *lookup, const char *name, int family, uint16_t port,
	const struct wait *wait, struct lookup_result *result, struct err *err);

/* Is c-ares new enough (1.31) to cache replies? */
bool lookup_has_cache(void);

/* "1.34.5" */
const char *lookup_version(void);

#endif
