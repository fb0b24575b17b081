/* TLS without a network: two engines hand each other their bytes. What takes a round trip on a
 * link is here one more turn of the client waiting for the server. */
#include <errno.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "check.h"
#include "net/tls.h"
#include "net/tls_trust.h"

#define NAME "server.rttmatrix.test"
#define MANY 20 /* turns: more than any handshake takes */

static const char message[] =
	"sixty-four bytes of request, no more and no less, to be answered";
static struct tls_identity ca, own, stranger;
static struct tls_identity client_own;

/* Both sides, and what they did. */
struct both {
	SSL_CTX *server_context, *client_context;
	struct tls_tickets tickets;
	struct tls client, server;
	int turns; /* how often the client had to wait */
	char got[sizeof(message)], reply[sizeof(message)];
	size_t got_len, reply_len, largest;
	struct err client_err, server_err;
};

static void
both_open(struct both *both, const struct tls_setting *setting,
	const struct tls_identity *server, X509 *trusted, const struct tls_identity *client)
{
	struct err err = {""};

	*both = (struct both){0};
	both->server_context = tls_server_context(setting, server, ca.cert, &err);
	both->client_context = tls_client_context(setting, client, trusted, &err);
	CHECK_TEXT(err.text, "");
	tls_tickets_keep(both->client_context, &both->tickets);
}

static void
both_close(struct both *both)
{
	tls_tickets_free(&both->tickets);
	tls_context_free(both->client_context);
	tls_context_free(both->server_context);
}

/* The client's bytes to the server, which echoes a whole message. -1: it refused them. */
static int
to_server(struct both *both)
{
	const char *bytes;
	size_t len = tls_pending(&both->client, &bytes);
	ssize_t got;

	tls_feed(&both->server, bytes, len);
	tls_flushed(&both->client);
	while ((got = tls_read(&both->server, both->got + both->got_len,
			sizeof(message) - both->got_len, &both->server_err)) > 0) {
		both->got_len += (size_t)got;
		if (both->got_len < sizeof(message))
			continue;
		CHECK_INT(tls_write(&both->server, both->got, sizeof(message), NULL), 0);
		both->got_len = 0;
	}
	return (int)got;
}

static void
to_client(struct both *both)
{
	const char *bytes;
	size_t len = tls_pending(&both->server, &bytes);

	both->largest = len > both->largest ? len : both->largest;
	tls_feed(&both->client, bytes, len);
	tls_flushed(&both->server);
	both->turns++;
}

/* Until the client is established: 1, or it or the server refused: -1. */
static int
shake_hands(struct both *both)
{
	int status;

	while ((status = tls_handshake(&both->client, &both->client_err)) == 0 &&
		both->turns < MANY) {
		to_server(both);
		to_client(both);
	}
	return status;
}

/* Until the reply is there. -1 when the server refuses after all. */
static int
read_reply(struct both *both)
{
	while (both->reply_len < sizeof(message) && both->turns < MANY) {
		ssize_t got = tls_read(&both->client, both->reply + both->reply_len,
			sizeof(message) - both->reply_len, &both->client_err);

		if (got < 0)
			return -1;
		both->reply_len += (size_t)got;
		if (got == 0) {
			to_server(both);
			to_client(both);
		}
	}
	return 0;
}

enum how { FULL, RESUMED, EARLY };

/* A connection from hello to farewell. *shaken: turns of the handshake; returns those until the
 * reply, -1 when it failed. */
static int
connection(struct both *both, enum how how, int *shaken)
{
	struct err err = {""};
	int status = -1;

	both->turns = 0;
	both->got_len = both->reply_len = both->largest = 0;
	CHECK_INT(tls_open_server(&both->server, both->server_context, &err), 0);
	CHECK_INT(tls_open_client(&both->client, both->client_context, NAME, &err), 0);
	if (how != FULL)
		CHECK_INT(tls_resume(&both->client, &both->tickets, &err), 0);
	if (how == EARLY)
		CHECK_INT(tls_write_early(&both->client, message, sizeof(message), &err), 0);
	if (shake_hands(both) == 1) {
		*shaken = both->turns;
		if (how != EARLY)
			tls_write(&both->client, message, sizeof(message), &err);
		status = read_reply(both);
	}
	CHECK_TEXT(err.text, "");
	return status < 0 ? -1 : both->turns;
}

/* Take what is left of tickets, say farewell. */
static void
hang_up(struct both *both)
{
	char byte;

	to_server(both);
	to_client(both);
	tls_read(&both->client, &byte, 1, NULL);
	tls_end(&both->client);
	CHECK_INT(to_server(both), -1);
	tls_close(&both->client);
	tls_close(&both->server);
}

static void
test_turns(void)
{
	static const struct {
		enum tls_version version;
		enum how how;
		int shaken, replied;
	} rows[] = {
		{TLS_1_3, FULL, 1, 2},
		{TLS_1_3, RESUMED, 1, 2},
		{TLS_1_3, EARLY, 1, 1},
		{TLS_1_2, FULL, 2, 3},
		{TLS_1_2, RESUMED, 1, 2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tls_setting setting = {
			.version = rows[i].version, .early = rows[i].how == EARLY};
		struct both both;
		int shaken = 0;

		both_open(&both, &setting, &own, ca.cert, NULL);
		CHECK_BETWEEN(connection(&both, FULL, &shaken), 2, 3);
		hang_up(&both);
		for (int again = 0; again < 3; again++) {
			CHECK_INT(connection(&both, rows[i].how, &shaken), rows[i].replied);
			CHECK_INT(shaken, rows[i].shaken);
			CHECK_TEXT(both.reply, message);
			CHECK_INT(tls_resumed(&both.client), rows[i].how != FULL);
			CHECK_INT(tls_resumed(&both.server), rows[i].how != FULL);
			CHECK_INT(tls_early_accepted(&both.client), rows[i].how == EARLY);
			CHECK_INT(tls_early_accepted(&both.server), rows[i].how == EARLY);
			CHECK_BETWEEN(both.client.cpu_ns, 1000, 1e9);
			CHECK_BETWEEN(both.server.cpu_ns, 1000, 1e9);
			CHECK_INT(both.client.sent, both.server.received);
			CHECK_INT(both.server.sent, both.client.received);
			hang_up(&both);
		}
		both_close(&both);
	}
}

static void
test_keys_and_groups(void)
{
	static const char *const signatures[] = {"id-ecPublicKey", "RSASSA-PSS", "ED25519"};
	static const enum tls_key keys[] = {TLS_ECDSA_P256, TLS_RSA_2048, TLS_ED25519};
	static const char *const groups[] = {"x25519", "secp256r1", "secp384r1"};

	for (int i = 0; i < 18; i++) {
		struct tls_setting setting = {.key = keys[i % 3],
			.group = (enum tls_group)(i / 3 % 3),
			.version = i / 9 ? TLS_1_3 : TLS_1_2};
		struct tls_identity root = {0}, leaf = {0};
		struct tls_facts facts;
		struct err err = {""};
		struct both both;
		int shaken;

		tls_ca_new(setting.key, &root, &err);
		leaf.key = tls_key_new(setting.key, &err);
		leaf.cert = tls_issue(&root, leaf.key, TLS_USE_SERVER, NAME, 0, &err);
		both_open(&both, &setting, &leaf, root.cert, NULL);
		CHECK_INT(connection(&both, FULL, &shaken), setting.version == TLS_1_3 ? 2 : 3);
		tls_describe(&both.client, &facts);
		CHECK_TEXT(facts.version, setting.version == TLS_1_3 ? "TLSv1.3" : "TLSv1.2");
		CHECK_TEXT(facts.signature, signatures[i % 3]);
		CHECK_TEXT(facts.group, groups[i / 3 % 3]);
		hang_up(&both);
		both_close(&both);
		tls_identity_free(&leaf);
		tls_identity_free(&root);
		CHECK_TEXT(err.text, "");
	}
}

/* On TLS 1.3 a ticket is gone once it was used, whatever came of it; on 1.2 it stays. */
static void
test_ticket_serves_once(void)
{
	for (int version = TLS_1_2; version <= TLS_1_3; version++) {
		struct tls_setting setting = {.version = (enum tls_version)version};
		struct err err = {""};
		struct both both;
		int shaken;

		both_open(&both, &setting, &own, ca.cert, NULL);
		CHECK_INT(tls_open_client(&both.client, both.client_context, NAME, &err), 0);
		CHECK_INT(tls_resume(&both.client, &both.tickets, &err), -1);
		CHECK_TEXT(err.text, "the server gave no session to resume");
		tls_close(&both.client);
		connection(&both, FULL, &shaken);
		hang_up(&both);
		CU_ASSERT(both.tickets.newest != NULL);
		tls_open_client(&both.client, both.client_context, NAME, &err);
		CHECK_INT(tls_resume(&both.client, &both.tickets, &err), 0);
		CHECK_INT(both.tickets.newest != NULL, version == TLS_1_2);
		tls_close(&both.client);
		both_close(&both);
	}
}

/* Early data sent a second time, as an attacker would who recorded it, is not taken again. */
static void
test_replay(void)
{
	struct tls_setting setting = {.version = TLS_1_3, .early = true};
	struct tls again;
	char bytes[4096], plain[256];
	const char *pending;
	struct both both;
	int shaken;
	size_t len;

	both_open(&both, &setting, &own, ca.cert, NULL);
	connection(&both, FULL, &shaken);
	hang_up(&both);
	tls_open_server(&both.server, both.server_context, NULL);
	tls_open_client(&both.client, both.client_context, NAME, NULL);
	CHECK_INT(tls_resume(&both.client, &both.tickets, NULL), 0);
	CHECK_INT(tls_write_early(&both.client, message, sizeof(message), NULL), 0);
	len = tls_pending(&both.client, &pending);
	CU_ASSERT_FATAL(len < sizeof(bytes));
	memcpy(bytes, pending, len);
	tls_feed(&both.server, bytes, len);
	CHECK_INT(tls_read(&both.server, plain, sizeof(plain), NULL), sizeof(message));
	tls_open_server(&again, both.server_context, NULL);
	tls_feed(&again, bytes, len);
	CHECK_INT(tls_read(&again, plain, sizeof(plain), NULL), 0);
	CHECK_INT(tls_early_accepted(&again), 0);
	tls_close(&again);
	tls_close(&both.client);
	tls_close(&both.server);
	both_close(&both);
}

/* There is no way not to verify. */
static void
test_refusals(void)
{
	struct tls_setting setting = {.version = TLS_1_3};
	struct tls_identity other = {.key = own.key};
	struct both both;
	int shaken;

	both_open(&both, &setting, &own, stranger.cert, NULL);
	CHECK_INT(connection(&both, FULL, &shaken), -1);
	CHECK_TEXT(both.client_err.text,
		"TLS: the peer's certificate: unable to get local issuer certificate");
	/* The alert is there for the server, too. */
	CHECK_INT(to_server(&both), -1);
	CHECK_TEXT(both.server_err.text, "TLS: tlsv1 alert unknown ca");
	tls_close(&both.client);
	tls_close(&both.server);
	both_close(&both);

	other.cert = tls_issue(&ca, own.key, TLS_USE_SERVER, "other.test", 0, NULL);
	both_open(&both, &setting, &other, ca.cert, NULL);
	CHECK_INT(connection(&both, FULL, &shaken), -1);
	CHECK_TEXT(both.client_err.text, "TLS: the peer's certificate: hostname mismatch");
	tls_close(&both.client);
	tls_close(&both.server);
	both_close(&both);
	X509_free(other.cert);

	other.cert = tls_issue(&ca, own.key, TLS_USE_CLIENT, NAME, 0, NULL);
	both_open(&both, &setting, &other, ca.cert, NULL);
	CHECK_INT(connection(&both, FULL, &shaken), -1);
	CHECK_TEXT(both.client_err.text,
		"TLS: the peer's certificate: unsuitable certificate purpose");
	tls_close(&both.client);
	tls_close(&both.server);
	both_close(&both);
	X509_free(other.cert);
}

static void
test_mutual(void)
{
	struct tls_setting setting = {.version = TLS_1_3, .mutual = true};
	struct both both;
	int shaken;

	both_open(&both, &setting, &own, ca.cert, &client_own);
	CHECK_INT(connection(&both, FULL, &shaken), 2);
	hang_up(&both);
	CHECK_INT(connection(&both, RESUMED, &shaken), 2);
	hang_up(&both);
	both_close(&both);
	both_open(&both, &setting, &own, ca.cert, NULL);
	CHECK_INT(connection(&both, FULL, &shaken), -1);
	CHECK_TEXT(both.server_err.text, "TLS: peer did not return a certificate");
	CHECK_TEXT(both.client_err.text, "TLS: tlsv13 alert certificate required");
	tls_close(&both.client);
	tls_close(&both.server);
	both_close(&both);
}

/* More than ten segments of 1460 bytes, less than twenty, which take no third round trip. */
static void
test_big_certificate(void)
{
	struct tls_setting setting = {.version = TLS_1_3};
	struct tls_identity big = {.key = own.key};
	struct both both;
	int shaken;

	both_open(&both, &setting, &own, ca.cert, NULL);
	CHECK_INT(connection(&both, FULL, &shaken), 2);
	CHECK_BETWEEN(both.largest, 500, 1460);
	hang_up(&both);
	both_close(&both);
	big.cert = tls_issue(&ca, own.key, TLS_USE_SERVER, NAME, 16000, NULL);
	CHECK_BETWEEN(i2d_X509(big.cert, NULL), 16000, 20000);
	both_open(&both, &setting, &big, ca.cert, NULL);
	CHECK_INT(connection(&both, FULL, &shaken), 2);
	CHECK_BETWEEN(both.largest, 14600, 28000);
	hang_up(&both);
	both_close(&both);
	X509_free(big.cert);
}

static void
test_check(void)
{
	struct tls_setting setting = {.version = TLS_1_2, .early = true};
	struct err err = {""};

	CHECK_INT(tls_check(&setting, &err), -1);
	CHECK_TEXT(err.text, "early data is of TLS 1.3: not with version=1.2");
	setting = (struct tls_setting){.version = TLS_1_2, .group = TLS_X25519MLKEM768};
	CHECK_INT(tls_check(&setting, &err), -1);
	setting = (struct tls_setting){.version = TLS_1_3, .early = true};
	CHECK_INT(tls_check(&setting, &err), 0);
	CHECK_INT(tls_has_group(TLS_P_384, &err), 0);
}

/* The whole exchange of trust, the question in two pieces cut anywhere. */
static void
trust_exchange(const char *question, size_t len, struct tls_identity *who)
{
	for (size_t cut = 1; cut <= len; cut++) {
		struct buf reply = {0};
		struct err err = {""};
		X509 *got = NULL;

		CHECK_INT(tls_trust_answer(question, cut, &ca, &reply, &err), cut == len);
		if (cut == len) {
			CHECK_INT(tls_trust_read(reply.data, reply.len, &got, who, &err), 0);
			CU_ASSERT(got && X509_cmp(got, ca.cert) == 0);
		}
		CHECK_TEXT(err.text, "");
		X509_free(got);
		buf_free(&reply);
	}
}

static char *
public_key(EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = calloc(1, 4096);

	PEM_write_bio_PUBKEY(bio, key);
	BIO_read(bio, text, 4095);
	BIO_free(bio);
	return text;
}

static void
test_trust(void)
{
	struct tls_identity who = {.key = client_own.key};
	char *question = public_key(client_own.key), *other = public_key(stranger.key);
	struct buf reply = {0};
	struct err err = {""};
	X509 *got = NULL;

	trust_exchange(TLS_TRUST_ASK, strlen(TLS_TRUST_ASK), &(struct tls_identity){0});
	trust_exchange(question, strlen(question), &who);
	CU_ASSERT(who.cert && X509_verify(who.cert, X509_get0_pubkey(ca.cert)) == 1);
	X509_free(who.cert);
	who.cert = NULL;
	/* A certificate for somebody else's key. */
	CHECK_INT(tls_trust_answer(other, strlen(other), &ca, &reply, &err), 1);
	CHECK_INT(tls_trust_read(reply.data, reply.len, &got, &who, &err), -1);
	CHECK_TEXT(err.text, "the server's certificate for us: key values mismatch");
	X509_free(got);
	X509_free(who.cert);
	buf_free(&reply);
	free(question);
	free(other);
}

static void
test_trust_rubbish(void)
{
	static const char *const questions[] = {"GET / HTTP/1.1\r\n", "cb", "ca\nca\n", "-x",
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"};
	static const int answers[] = {-1, -1, -1, 0, -1};
	struct tls_identity nobody = {0};
	struct buf reply = {0};
	X509 *got;
	struct err err;

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		CHECK_INT(
			tls_trust_answer(questions[i], strlen(questions[i]), &ca, &reply, &err),
			answers[i]);
	CHECK_INT(reply.len, 0);
	CHECK_INT(tls_trust_read("", 0, &got, &nobody, &err), -1);
	CHECK_TEXT(err.text, "the server's CA: no start line");
	CHECK_INT(tls_trust_is_question("\x16\x03\x01", 3), 0);
	CHECK_INT(tls_trust_is_question("ca\n", 3), 1);
	CHECK_INT(tls_trust_decode("", &got, &err), -1);
	CHECK_INT(tls_trust_decode("AAAA", &got, &err), -1);
	CHECK_INT(tls_trust_decode("no base64!", &got, &err), -1);
}

static void
test_decode(void)
{
	unsigned char *der = NULL;
	int len = i2d_X509(ca.cert, &der);
	char *text = calloc(2, (size_t)len);
	struct err err = {""};
	X509 *got = NULL;

	EVP_EncodeBlock((unsigned char *)text, der, len);
	CHECK_INT(tls_trust_decode(text, &got, &err), 0);
	CHECK_TEXT(err.text, "");
	CU_ASSERT(got && X509_cmp(got, ca.cert) == 0);
	X509_free(got);
	free(text);
	OPENSSL_free(der);
}

static CU_TestInfo tests[] = {
	{"round trips of each version and session", test_turns},
	{"every key and group negotiates what it says", test_keys_and_groups},
	{"a TLS 1.3 ticket serves once", test_ticket_serves_once},
	{"early data is not taken twice", test_replay},
	{"wrong CA, name, purpose are refused", test_refusals},
	{"mutual", test_mutual},
	{"a big certificate is more than ten segments", test_big_certificate},
	{"what cannot be is refused", test_check},
	{"trust: question and answer", test_trust},
	{"trust: rubbish", test_trust_rubbish},
	{"a CA as text", test_decode},
	CU_TEST_INFO_NULL,
};

int
main(void)
{
	struct err err = {""};
	int status = 1;

	if (tls_setup(&err) == 0 && tls_ca_new(TLS_ECDSA_P256, &ca, &err) == 0 &&
		tls_ca_new(TLS_ECDSA_P256, &stranger, &err) == 0 &&
		(own.key = tls_key_new(TLS_ECDSA_P256, &err)) &&
		(own.cert = tls_issue(&ca, own.key, TLS_USE_SERVER, NAME, 0, &err)) &&
		(client_own.key = tls_key_new(TLS_ECDSA_P256, &err)) &&
		(client_own.cert = tls_issue(
			 &ca, client_own.key, TLS_USE_CLIENT, TLS_TRUST_CLIENT, 0, &err)))
		status = check_main("tls", tests);
	if (*err.text)
		fprintf(stderr, "tls: %s\n", err.text);
	tls_identity_free(&client_own);
	tls_identity_free(&own);
	tls_identity_free(&stranger);
	tls_identity_free(&ca);
	return status;
}
