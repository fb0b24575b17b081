/* Feeds bytes of a peer to whatever reads them before TLS is established: both halves of asking
 * for the CA (net/tls_trust.h) and both engines. No crash, no leak, and every refusal says why.
 */
#include <openssl/x509.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/tls.h"
#include "net/tls_trust.h"
#include "replay.h"

#define BYTES_MAX 1000000

/* Made once: what a run of a probe makes, too. */
static struct {
	struct tls_identity ca, own;
	SSL_CTX *server, *client;
} run;

static void
must(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "fuzz_tls: %s\n", what);
		abort();
	}
}

static void
prepare(void)
{
	struct tls_setting setting = {.version = TLS_1_3, .early = true};
	struct err err = {""};

	if (run.client)
		return;
	tls_setup(&err);
	tls_ca_new(TLS_ECDSA_P256, &run.ca, &err);
	run.own.key = tls_key_new(TLS_ECDSA_P256, &err);
	run.own.cert = tls_issue(&run.ca, run.own.key, TLS_USE_SERVER, "a.test", 0, &err);
	run.server = tls_server_context(&setting, &run.own, run.ca.cert, &err);
	run.client = tls_client_context(&setting, NULL, run.ca.cert, &err);
	must(!*err.text, err.text);
}

static void
ask(const char *bytes, size_t size)
{
	struct buf reply = {0};
	struct err err = {""};
	X509 *ca = NULL;
	int status = tls_trust_answer(bytes, size, &run.ca, &reply, &err);

	must(status >= 0 || *err.text, "a refused question has a reason");
	must((status == 1) == (reply.len > 0), "a reply, and only to a whole question");
	if (status == 1)
		must(tls_trust_read(
			     reply.data, reply.len, &ca, &(struct tls_identity){0}, &err) == 0,
			"our own reply reads back");
	X509_free(ca);
	buf_free(&reply);
}

static void
read_reply(const char *bytes, size_t size)
{
	struct tls_identity own = {.key = run.own.key};
	struct err err = {""};
	X509 *ca = NULL;

	if (tls_trust_read(bytes, size, &ca, &own, &err) < 0)
		must(*err.text, "a refused reply has a reason");
	else
		must(ca && own.cert, "both certificates");
	X509_free(ca);
	X509_free(own.cert);
}

static void
shake_hands(const char *bytes, size_t size)
{
	struct err err = {""};
	struct tls tls;
	char plain[256];
	ssize_t got;

	must(tls_open_server(&tls, run.server, &err) == 0, "a server opens");
	tls_feed(&tls, bytes, size);
	got = tls_read(&tls, plain, sizeof(plain), &err);
	must(got <= 0, "no plain bytes without a handshake");
	must(got == 0 || *err.text, "a refusing server has a reason");
	tls_close(&tls);
	must(tls_open_client(&tls, run.client, "a.test", &err) == 0, "a client opens");
	must(tls_handshake(&tls, &err) == 0, "a client waits");
	tls_feed(&tls, bytes, size);
	got = tls_handshake(&tls, &err);
	must(got <= 0, "no handshake by rubbish");
	must(got == 0 || *err.text, "a refusing client has a reason");
	tls_close(&tls);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;

	prepare();
	if (size == 0)
		return 0;
	if (tls_trust_is_question(bytes, size))
		ask(bytes, size);
	read_reply(bytes, size);
	shake_hands(bytes, size);
	return 0;
}

REPLAY_MAIN("fuzz_tls", BYTES_MAX)
