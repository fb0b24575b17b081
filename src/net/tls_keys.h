/* Keys and certificates made in memory: a CA that lives as long as a run, and what it signs.
 * Nothing here reads or writes a file. */
#ifndef NET_TLS_KEYS_H
#define NET_TLS_KEYS_H

#include <openssl/types.h>
#include <stddef.h>

#include "base/err.h"

/* In the order of TLS_KEY_CHOICES. */
enum tls_key { TLS_ECDSA_P256, TLS_RSA_2048, TLS_RSA_3072, TLS_ED25519 };

#define TLS_KEY_CHOICES "ecdsa-p256|rsa-2048|rsa-3072|ed25519"

/* A key pair and the certificate for it. Free with tls_identity_free(). */
struct tls_identity {
	EVP_PKEY *key;
	X509 *cert;
};

enum tls_use { TLS_USE_SERVER, TLS_USE_CLIENT };

/* A new key pair, to be freed with EVP_PKEY_free(); NULL with an error. RSA takes a while. */
EVP_PKEY *tls_key_new(enum tls_key kind, struct err *err);

/* A CA with a key of its own, signed by itself: of `kind`, but of RSA always 2048 bits. */
int tls_ca_new(enum tls_key kind, struct tls_identity *ca, struct err *err);

/* A certificate by `ca` for the public half of `key` and the host `name`, valid for a day. With
 * `least` > 0 it is for so many more hosts that it takes at least that many bytes. To be freed
 * with X509_free(); NULL with an error. */
X509 *tls_issue(const struct tls_identity *ca, EVP_PKEY *key, enum tls_use use,
	const char *name, size_t least, struct err *err);

void tls_identity_free(struct tls_identity *identity);

/* As err_set(), with ": " and what OpenSSL says behind it; errno becomes EPROTO. Returns -1. */
int tls_fail(struct err *err, const char *what);

#endif
