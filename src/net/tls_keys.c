/* Keys and certificates made in memory. */
#include "net/tls_keys.h"

#include <errno.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define HOUR_S 3600
#define DAY_S (24 * HOUR_S)

int
tls_fail(struct err *err, const char *what)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	errno = EPROTO;
	return err_set(err, "%s: %s", what, reason ? reason : "OpenSSL gives no reason");
}

EVP_PKEY *
tls_key_new(enum tls_key kind, struct err *err)
{
	EVP_PKEY *key = NULL;

	switch (kind) {
	case TLS_ECDSA_P256:
		key = EVP_EC_gen("P-256");
		break;
	case TLS_RSA_2048:
		key = EVP_RSA_gen(2048);
		break;
	case TLS_RSA_3072:
		key = EVP_RSA_gen(3072);
		break;
	case TLS_ED25519:
		key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
		break;
	}
	if (!key)
		tls_fail(err, "make a key");
	return key;
}

static int
set_name(X509_NAME *name, const char *common)
{
	return X509_NAME_add_entry_by_txt(
		name, "CN", MBSTRING_ASC, (const unsigned char *)common, -1, -1, 0);
}

/* 64 bits at random, positive: two CAs of one name never issue the same number. */
static int
set_serial(X509 *cert)
{
	uint64_t serial;

	if (RAND_bytes((unsigned char *)&serial, sizeof(serial)) != 1)
		return 0;
	return ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1 | 1);
}

static int
add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	int added;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	added = extension && X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
	return added;
}

/* What all certificates have; the caller adds extensions and signs. NULL when out of luck. */
static X509 *
draft(X509_NAME *issuer, EVP_PKEY *key, const char *name)
{
	X509 *cert = X509_new();

	/* An hour back: the clocks of two machines differ. */
	if (cert && X509_set_version(cert, X509_VERSION_3) && set_serial(cert) &&
		X509_gmtime_adj(X509_getm_notBefore(cert), -HOUR_S) &&
		X509_gmtime_adj(X509_getm_notAfter(cert), DAY_S) &&
		X509_set_pubkey(cert, key) && set_name(X509_get_subject_name(cert), name) &&
		X509_set_issuer_name(cert, issuer ? issuer : X509_get_subject_name(cert)))
		return cert;
	X509_free(cert);
	return NULL;
}

/* Ed25519 brings its own digest. */
static bool
sign(X509 *cert, EVP_PKEY *key)
{
	bool own_digest = EVP_PKEY_get_id(key) == EVP_PKEY_ED25519;

	return X509_sign(cert, key, own_digest ? NULL : EVP_sha256()) > 0;
}

int
tls_ca_new(enum tls_key kind, struct tls_identity *ca, struct err *err)
{
	ca->cert = NULL;
	/* Two RSA keys of 3072 bits can take seconds to make: too long to wait for. */
	ca->key = tls_key_new(kind == TLS_RSA_3072 ? TLS_RSA_2048 : kind, err);
	if (!ca->key)
		return -1;
	ca->cert = draft(NULL, ca->key, "rttmatrix CA of one run");
	if (ca->cert &&
		add_extension(ca->cert, ca->cert, NID_basic_constraints,
			"critical,CA:TRUE,pathlen:0") &&
		add_extension(ca->cert, ca->cert, NID_key_usage, "critical,keyCertSign") &&
		add_extension(ca->cert, ca->cert, NID_subject_key_identifier, "hash") &&
		sign(ca->cert, ca->key))
		return 0;
	tls_fail(err, "make a CA");
	tls_identity_free(ca);
	return -1;
}

/* A certificate of many hosts is what makes chains large in the wild, too. */
static int
add_hosts(X509 *cert, const char *name, size_t least)
{
	struct buf hosts = {0};
	int added;

	buf_printf(&hosts, "DNS:%s", name);
	/* The text is a little longer than its DER: "DNS:" and a comma, not a tag and a length.
	 */
	for (int i = 0; hosts.len < least + least / 8; i++)
		buf_printf(&hosts, ",DNS:host-%04d.of-many.%s", i, name);
	added = add_extension(cert, cert, NID_subject_alt_name, hosts.data);
	buf_free(&hosts);
	return added;
}

X509 *
tls_issue(const struct tls_identity *ca, EVP_PKEY *key, enum tls_use use, const char *name,
	size_t least, struct err *err)
{
	const char *purpose = use == TLS_USE_SERVER ? "serverAuth" : "clientAuth";
	X509 *cert = draft(X509_get_subject_name(ca->cert), key, name);

	if (cert && add_extension(cert, ca->cert, NID_basic_constraints, "critical,CA:FALSE") &&
		add_extension(cert, ca->cert, NID_key_usage, "critical,digitalSignature") &&
		add_extension(cert, ca->cert, NID_ext_key_usage, purpose) &&
		add_extension(cert, ca->cert, NID_authority_key_identifier, "keyid:always") &&
		add_hosts(cert, name, least) && sign(cert, ca->key))
		return cert;
	tls_fail(err, "make a certificate");
	X509_free(cert);
	return NULL;
}

void
tls_identity_free(struct tls_identity *identity)
{
	EVP_PKEY_free(identity->key);
	X509_free(identity->cert);
	*identity = (struct tls_identity){0};
}
