/* DNS messages (RFC 1035): queries and replies read strictly within their bounds, and written.
 *
 * Nothing here opens a socket. Messages are at most DNS_SIZE bytes, the limit of DNS over UDP
 * without EDNS, which is what everybody who speaks through here keeps to. */
#ifndef NET_DNS_H
#define NET_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DNS_SIZE 512
#define DNS_NAME_SIZE 1021 /* 254 bytes of labels, each printed as \DDD at worst, and a NUL */

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_AAAA = 28 };

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
};

#define DNS_CLASS_IN 1

struct dns_question {
	char name[DNS_NAME_SIZE]; /* lower case, dots between labels and none at the end */
	uint16_t type, class;
	size_t end; /* offset in the message of what stands behind it */
};

/* What a message says of itself. */
struct dns_message {
	uint16_t id;
	bool reply; /* QR */
	int opcode;
	bool authoritative, truncated, recursion_desired, recursion_available;
	int rcode; /* the four bits of the header */
	struct dns_question question;
	int answers;
	uint32_t ttl_min; /* of the answers; 0 without any */
};

/* Read a message: exactly one question, every record within the bounds, nothing behind them.
 * -1 with an error that says what is wrong. */
int dns_read(const void *bytes, size_t len, struct dns_message *message, struct err *err);

/* A message being written. `len` is what it has; once something did not fit, `full` is set and
 * nothing more is added. */
struct dns_writer {
	unsigned char bytes[DNS_SIZE];
	size_t len;
	bool full;
};

/* The question of the `query`, which `bytes` were read as, under another identifier and without
 * anything behind it (EDNS is between neighbours); recursion desired. */
void dns_write_query(struct dns_writer *writer, uint16_t id, const void *bytes,
	const struct dns_message *query);

/* Header and question of a reply to the `query`, which `bytes` were read as. */
void dns_write_reply(struct dns_writer *writer, const void *bytes,
	const struct dns_message *query, enum dns_rcode rcode);

/* The TC bit: what was left out is to be asked for over TCP. */
void dns_write_truncated(struct dns_writer *writer);

/* A record of `owner`, the offset of a name in the message. */
void dns_write_address(struct dns_writer *writer, size_t owner, enum dns_type type,
	uint32_t ttl, const void *address);

/* CNAME from `owner` to "`label`.NAME", NAME being at offset `parent`. Returns the offset of
 * the new name. */
size_t dns_write_cname(struct dns_writer *writer, size_t owner, uint32_t ttl, const char *label,
	size_t parent);

/* The offset of the question's name in every message. */
#define DNS_QUESTION_AT 12

/* Turn a stored reply, as dns_read() took it, into one for another query of the same question:
 * its identifier, its RD bit and its spelling of the name; every time to live is `age` seconds
 * less, at least 0; no longer authoritative, recursion available. `query` is as long as its
 * question needs. */
void dns_reuse(void *reply, size_t len, const void *query, uint32_t age);

#endif
