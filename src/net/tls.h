/* One TLS connection: an engine that never touches a socket, and a client that drives it over
 * one before a deadline.
 *
 * The engine is fed what the peer sent and yields what is to be sent, so the same code serves
 * an epoll loop, a blocking or a spinning client, and tests without a network:
 *
 *      peer's bytes -> tls_feed() -> tls_handshake(), tls_read()  -> plain bytes
 *      bytes for it <- tls_pending() <- tls_handshake(), tls_write() <- plain bytes
 *
 * Every function that fails leaves the reason in errno as well: EPROTO is TLS itself. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "net/tls_context.h"
#include "net/wait.h"

struct tls {
	SSL *ssl;
	BIO *in, *out; /* both owned by ssl */
	bool early;    /* server: early data may still come */
	int64_t sent, received;
	int64_t cpu_ns; /* this thread's, in OpenSSL, from tls_open_…() until established */
};

/* A client verifies the chain and that the certificate is for `name`. To be ended with
 * tls_close(), also after a failure. */
int tls_open_client(struct tls *tls, SSL_CTX *context, const char *name, struct err *err);
int tls_open_server(struct tls *tls, SSL_CTX *context, struct err *err);
void tls_close(struct tls *tls);

/* Resume with a ticket, before the handshake. */
int tls_resume(struct tls *tls, struct tls_tickets *tickets, struct err *err);

/* ---- the engine ---- */

void tls_feed(struct tls *tls, const void *bytes, size_t len);

/* What is to be sent, valid until the next call; forget it with tls_flushed(). */
size_t tls_pending(const struct tls *tls, const char **bytes);
void tls_flushed(struct tls *tls);

/* Go on with the handshake. 1: established, 0: needs more from the peer, -1: failed; what is
 * pending then is the alert that tells the peer. */
int tls_handshake(struct tls *tls, struct err *err);

/* Plain bytes; on a server it also goes on with the handshake and takes early data. 0: needs
 * more from the peer; -1: failed, or, with errno 0, the peer ended the connection. */
ssize_t tls_read(struct tls *tls, void *bytes, size_t len, struct err *err);

/* All of it; a server may write before the handshake is over. */
int tls_write(struct tls *tls, const void *bytes, size_t len, struct err *err);

/* A client's first bytes, to be sent along with its first message. */
int tls_write_early(struct tls *tls, const void *bytes, size_t len, struct err *err);

/* Tell the peer that nothing follows, so that the session stays good. */
void tls_end(struct tls *tls);

/* ---- a client on a socket ---- */

int tls_connect(struct tls *tls, int fd, const struct wait *wait, struct err *err);
int tls_flush(struct tls *tls, int fd, const struct wait *wait, struct err *err);

/* At least one plain byte; a peer that ends the connection is an error with ECONNRESET. */
ssize_t tls_receive(struct tls *tls, int fd, void *bytes, size_t len, const struct wait *wait,
	struct err *err);

/* Read on until a ticket is there; only tickets may come. On TLS 1.2 it comes in the handshake
 * or not at all. */
int tls_await_ticket(struct tls *tls, int fd, const struct tls_tickets *tickets,
	const struct wait *wait, struct err *err);

/* ---- what came of it ---- */

bool tls_established(const struct tls *tls);
bool tls_resumed(const struct tls *tls);
bool tls_early_accepted(const struct tls *tls);

/* Names that OpenSSL keeps for ever; "-" where there is none (a resumed one signs nothing). */
struct tls_facts {
	const char *version, *cipher, *group, *signature;
};

void tls_describe(const struct tls *tls, struct tls_facts *facts);

#endif
