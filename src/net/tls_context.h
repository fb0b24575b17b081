/* What TLS connections have in common: settings pinned on both sides, contexts, and the tickets
 * that a client was given. */
#ifndef NET_TLS_CONTEXT_H
#define NET_TLS_CONTEXT_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/tls_keys.h"

/* In the order of the choices below. */
enum tls_version { TLS_1_2, TLS_1_3 };
enum tls_group { TLS_X25519, TLS_P_256, TLS_P_384, TLS_X25519MLKEM768 };

#define TLS_VERSION_CHOICES "1.2|1.3"
#define TLS_GROUP_CHOICES "x25519|p-256|p-384|x25519mlkem768"

struct tls_setting {
	enum tls_version version;
	enum tls_key key;
	enum tls_group group;
	bool mutual; /* the server asks for a certificate, too */
	bool early;  /* the server takes early data; it then serves a ticket once, as a TLS 1.3
			server must that acts on early data (RFC 8446, 8) */
};

/* Once, before any other call: OpenSSL reads no openssl.cnf, whatever the environment says. */
int tls_setup(struct err *err);

/* Refuse, in words for a user, what no OpenSSL can do. */
int tls_check(const struct tls_setting *setting, struct err *err);

/* Has this OpenSSL the group? If not, the error names its version. */
int tls_has_group(enum tls_group group, struct err *err);

/* Contexts: exactly one version, cipher suite, group and signature scheme; no certificate but
 * `ca` is trusted, none of the machine's. `own` is who this side is; NULL for a client that is
 * nobody. Free with tls_context_free(); NULL with an error. */
SSL_CTX *tls_server_context(const struct tls_setting *setting, const struct tls_identity *own,
	X509 *ca, struct err *err);
SSL_CTX *tls_client_context(const struct tls_setting *setting, const struct tls_identity *own,
	X509 *ca, struct err *err);
void tls_context_free(SSL_CTX *context);

/* The sessions a client has been given in a context. */
struct tls_tickets {
	struct ssl_session_st *newest; /* NULL: none is left */
	int64_t drawn;                 /* how many there have been */
};

/* Keep the newest session of this client context in `tickets`, which must outlive it. */
void tls_tickets_keep(SSL_CTX *context, struct tls_tickets *tickets);
void tls_tickets_free(struct tls_tickets *tickets);

/* Let `ssl` resume with the newest. A TLS 1.3 ticket serves once (RFC 8446, C.4) and is taken
 * out by this. -1: there is none. */
int tls_tickets_use(struct tls_tickets *tickets, SSL *ssl, struct err *err);

/* The error of there being no session. Returns -1. */
int tls_no_session(struct err *err);

#endif
