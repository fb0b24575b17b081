/* An authoritative DNS server of names it makes up, on UDP and TCP at one port, that counts
 * what it is asked and fails in the way it is told to.
 *
 * The zone is ZONE_NAME. nNUMBER.rttmatrix.test has the A record 198.51.100.(NUMBER mod 254 +
 * 1) and the AAAA record 2001:db8::NUMBER (RFC 5737, RFC 3849), and so has cK.nNUMBER..., the
 * K-th name of a chain of CNAMEs; other names do not exist. */
#ifndef PROBE_RESPONDER_H
#define PROBE_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/addr.h"
#include "net/dns.h"
#include "probe/probe.h"
#include "probe/server.h"

#define ZONE_NAME "rttmatrix.test"

struct responder_setting {
	bool tcp_only;        /* UDP is refused: nothing is bound there */
	bool silent;          /* never answer */
	bool truncate;        /* over UDP: only the TC bit */
	int64_t drop;         /* of each question the first so many queries are not answered */
	int64_t delay_ns;     /* a reply over UDP leaves so much later */
	int64_t chain;        /* so many CNAMEs before the address, in the same reply */
	enum dns_rcode rcode; /* of every reply; DNS_NOERROR: what is right */
	uint32_t ttl;         /* seconds */
	const struct addr *address; /* the one that names have instead of theirs, in its family
				       only; NULL: their own */
	bool spin;
};

/* Serve until call->stop_fd, as server_run(); then print the counters. */
int responder_run(const struct responder_setting *setting, const struct probe_call *call,
	struct err *err);

/* UDP alone, beside another service: `server` is to call responder_datagram() for each. Free it
 * with responder_free(). `setting` must outlive it. */
struct responder;

struct responder *responder_new(const struct responder_setting *setting, struct server *server);
void responder_free(struct responder *responder);
void responder_datagram(struct responder *responder);
int64_t responder_queries(const struct responder *responder);

/* Is that a name of the zone with addresses? Then its address: 4 bytes for A, 16 for AAAA. */
bool zone_address(const char *name, enum dns_type type, unsigned char out[static 16]);

/* Has the zone this address for `name`? */
bool zone_has(const char *name, const struct addr *addr);

#define ZONE_PATH_SIZE 32

/* A hosts file in memory that says of `name` what the zone does. The descriptor that it lasts
 * as long as, and the path it has in this process; -1 for a name the zone does not have. */
int zone_hosts(const char *name, char path[static ZONE_PATH_SIZE], struct err *err);

#endif
