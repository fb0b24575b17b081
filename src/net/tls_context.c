/* Contexts with everything pinned, and the tickets of a client. */
#include "net/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

/* Of the suites that RFC 8446 (9.1) and browsers have in common with TLS 1.2, the one that
 * every TLS 1.3 must have. */
#define SUITE_13 "TLS_AES_128_GCM_SHA256"
#define SUITES_12 "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"

static const char *const group_names[] = {
	[TLS_X25519] = "X25519",
	[TLS_P_256] = "P-256",
	[TLS_P_384] = "P-384",
	[TLS_X25519MLKEM768] = "X25519MLKEM768",
};

/* In a handshake RSA signs as TLS 1.3 demands; certificates are signed the old way. */
#define RSA_SCHEMES "rsa_pss_rsae_sha256:RSA+SHA256"

static const char *const scheme_names[] = {
	[TLS_ECDSA_P256] = "ECDSA+SHA256",
	[TLS_RSA_2048] = RSA_SCHEMES,
	[TLS_RSA_3072] = RSA_SCHEMES,
	[TLS_ED25519] = "ed25519",
};

int
tls_setup(struct err *err)
{
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1)
		return 0;
	return tls_fail(err, "start OpenSSL");
}

int
tls_check(const struct tls_setting *setting, struct err *err)
{
	if (setting->version == TLS_1_3)
		return 0;
	if (setting->early)
		return err_set(err, "early data is of TLS 1.3: not with version=1.2");
	if (setting->group == TLS_X25519MLKEM768)
		return err_set(err, "group=x25519mlkem768 is of TLS 1.3: not with version=1.2");
	return 0;
}

int
tls_has_group(enum tls_group group, struct err *err)
{
	SSL_CTX *context = SSL_CTX_new(TLS_method());
	int known = context && SSL_CTX_set1_groups_list(context, group_names[group]);

	SSL_CTX_free(context);
	ERR_clear_error();
	if (known)
		return 0;
	return err_set(err, "%s has no group %s", OpenSSL_version(OPENSSL_VERSION),
		group_names[group]);
}

/* On TLS 1.2 the list also has to hold the curve of an ECDSA key (RFC 8422, 5.1.1): behind the
 * one that both sides prefer. */
static int
pin_group(SSL_CTX *context, const struct tls_setting *setting)
{
	char names[64];
	bool curve_too = setting->version == TLS_1_2 && setting->key == TLS_ECDSA_P256 &&
			 setting->group != TLS_P_256;

	snprintf(names, sizeof(names), "%s%s", group_names[setting->group],
		curve_too ? ":P-256" : "");
	return SSL_CTX_set1_groups_list(context, names) == 1;
}

static int
pin(SSL_CTX *context, const struct tls_setting *setting)
{
	int version = setting->version == TLS_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;

	return SSL_CTX_set_min_proto_version(context, version) &&
	       SSL_CTX_set_max_proto_version(context, version) &&
	       SSL_CTX_set_cipher_list(context, SUITES_12) &&
	       SSL_CTX_set_ciphersuites(context, SUITE_13) && pin_group(context, setting) &&
	       SSL_CTX_set1_sigalgs_list(context, scheme_names[setting->key]);
}

static int
take_identity(SSL_CTX *context, const struct tls_identity *own)
{
	if (!own || !own->cert)
		return 1;
	return SSL_CTX_use_certificate(context, own->cert) &&
	       SSL_CTX_use_PrivateKey(context, own->key);
}

/* What both sides do alike. NULL with an error. */
static SSL_CTX *
make(const SSL_METHOD *method, const struct tls_setting *setting,
	const struct tls_identity *own, X509 *ca, struct err *err)
{
	SSL_CTX *context = SSL_CTX_new(method);

	if (context && pin(context, setting) && take_identity(context, own) &&
		X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca)) {
		/* Who trusts a CA has its certificate and is not sent it. */
		SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
		return context;
	}
	tls_fail(err, "make a TLS context");
	SSL_CTX_free(context);
	return NULL;
}

SSL_CTX *
tls_server_context(const struct tls_setting *setting, const struct tls_identity *own, X509 *ca,
	struct err *err)
{
	static const unsigned char id[] = "rttmatrix";
	SSL_CTX *context = make(TLS_server_method(), setting, own, ca, err);

	if (!context)
		return NULL;
	/* Without it sessions with a client's certificate cannot be resumed. */
	SSL_CTX_set_session_id_context(context, id, sizeof(id) - 1);
	SSL_CTX_set_max_early_data(context, setting->early ? SSL3_RT_MAX_PLAIN_LENGTH : 0);
	if (setting->mutual) {
		SSL_CTX_set_verify(
			context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
		SSL_CTX_add_client_CA(context, ca);
	}
	return context;
}

SSL_CTX *
tls_client_context(const struct tls_setting *setting, const struct tls_identity *own, X509 *ca,
	struct err *err)
{
	SSL_CTX *context = make(TLS_client_method(), setting, own, ca, err);

	if (!context)
		return NULL;
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	return context;
}

void
tls_context_free(SSL_CTX *context)
{
	SSL_CTX_free(context);
}

/* Called when a session can be resumed: at the end of a TLS 1.2 handshake, but on TLS 1.3 when
 * a ticket is read, which is after the handshake. 1: we keep the reference. */
static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls_tickets *tickets = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	SSL_SESSION_free(tickets->newest);
	tickets->newest = session;
	tickets->drawn++;
	return 1;
}

void
tls_tickets_keep(SSL_CTX *context, struct tls_tickets *tickets)
{
	SSL_CTX_set_app_data(context, tickets);
	SSL_CTX_set_session_cache_mode(
		context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(context, on_session);
}

void
tls_tickets_free(struct tls_tickets *tickets)
{
	SSL_SESSION_free(tickets->newest);
	tickets->newest = NULL;
}

int
tls_no_session(struct err *err)
{
	errno = EBADMSG;
	return err_set(err, "the server gave no session to resume");
}

int
tls_tickets_use(struct tls_tickets *tickets, SSL *ssl, struct err *err)
{
	SSL_SESSION *session = tickets->newest;

	if (!session || !SSL_SESSION_is_resumable(session))
		return tls_no_session(err);
	if (!SSL_set_session(ssl, session))
		return tls_fail(err, "resume");
	if (SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION)
		tls_tickets_free(tickets);
	return 0;
}
