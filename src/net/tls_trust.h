/* How a client comes to trust the CA of the run: before the first handshake it asks for it,
 * over a TCP connection of its own to the port that also speaks TLS.
 *
 * The client sends "ca\n", or, for mutual TLS, the public key it made for itself (PEM); the
 * server replies with the certificate of its CA, behind it, if asked, one for the client's key
 * (PEM), and closes. Private keys never leave their process. Neither message can be taken for
 * a TLS record, which starts with a byte of 22.
 *
 * Anybody between the two could hand out a CA of his own: on the links that this project builds
 * there is nobody. What is measured, the verification of chain and name, is the same. */
#ifndef NET_TLS_TRUST_H
#define NET_TLS_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/addr.h"
#include "net/tls_keys.h"
#include "net/wait.h"

#define TLS_TRUST_ASK "ca\n"
#define TLS_TRUST_CLIENT "client.rttmatrix.test" /* whom a client's certificate is for */

/* Ask `peer` for its CA and, when own->key is set, for a certificate for that key. Fills *ca,
 * to be freed with X509_free(), and own->cert. */
int tls_trust_ask(const struct addr *peer, const struct wait *wait, X509 **ca,
	struct tls_identity *own, struct err *err);

/* The client's half of reading: `bytes` are the whole reply. */
int tls_trust_read(
	const char *bytes, size_t len, X509 **ca, struct tls_identity *own, struct err *err);

/* A CA given as text: base64 of its DER, on one line. Fills *ca, to be freed with X509_free().
 */
int tls_trust_decode(const char *text, X509 **ca, struct err *err);

/* Is this the start of a question, not of a TLS record? `len` is at least 1. */
bool tls_trust_is_question(const char *bytes, size_t len);

/* The server's half. 1: the question was complete and the reply is appended to `reply`; 0:
 * there is more to come; -1: that is no question. */
int tls_trust_answer(const char *bytes, size_t len, const struct tls_identity *ca,
	struct buf *reply, struct err *err);

#endif
