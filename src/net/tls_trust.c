/* Asking for the CA of the run, and answering. */
#include "net/tls_trust.h"

#include <errno.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "net/tcp.h"

#define TLS_RECORD 22 /* content type of a handshake record: RFC 8446, 5.1 */
#define KEY_END "-----END PUBLIC KEY-----\n"
#define QUESTION_MAX 4096
#define REPLY_MAX 65536

bool
tls_trust_is_question(const char *bytes, size_t len)
{
	return len > 0 && bytes[0] != TLS_RECORD;
}

/* What the peer sends may claim to be encrypted; OpenSSL would ask on the terminal. */
static int
no_password(char *out, int size, int writing, void *context)
{
	(void)out, (void)size, (void)writing, (void)context;
	return -1;
}

static void
append(struct buf *out, BIO *bio)
{
	char *bytes;
	long len = BIO_get_mem_data(bio, &bytes);

	if (len > 0)
		buf_add(out, bytes, (size_t)len);
}

static int
append_cert(struct buf *out, X509 *cert)
{
	BIO *bio = BIO_new(BIO_s_mem());
	int written = bio && PEM_write_bio_X509(bio, cert);

	if (written)
		append(out, bio);
	BIO_free(bio);
	return written ? 0 : -1;
}

static int
answer_key(const char *bytes, size_t len, const struct tls_identity *ca, struct buf *reply,
	struct err *err)
{
	BIO *bio = BIO_new_mem_buf(bytes, (int)len);
	EVP_PKEY *key = bio ? PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL) : NULL;
	X509 *cert = NULL;
	int status = -1;

	BIO_free(bio);
	if (!key) {
		tls_fail(err, "a client's public key");
	} else {
		cert = tls_issue(ca, key, TLS_USE_CLIENT, TLS_TRUST_CLIENT, 0, err);
		if (cert && append_cert(reply, ca->cert) == 0)
			status = append_cert(reply, cert) == 0 ? 1 : -1;
	}
	X509_free(cert);
	EVP_PKEY_free(key);
	return status;
}

int
tls_trust_answer(const char *bytes, size_t len, const struct tls_identity *ca,
	struct buf *reply, struct err *err)
{
	size_t ask = sizeof(TLS_TRUST_ASK) - 1, end = sizeof(KEY_END) - 1;

	if (len <= ask && !memcmp(bytes, TLS_TRUST_ASK, len)) {
		if (len < ask)
			return 0;
		return append_cert(reply, ca->cert) == 0 ? 1 : -1;
	}
	if (bytes[0] != '-' || len > QUESTION_MAX)
		return err_set(err, "neither TLS nor a question for the CA");
	if (len < end || memcmp(bytes + len - end, KEY_END, end) != 0)
		return 0;
	return answer_key(bytes, len, ca, reply, err);
}

int
tls_trust_read(
	const char *bytes, size_t len, X509 **ca, struct tls_identity *own, struct err *err)
{
	BIO *bio = BIO_new_mem_buf(bytes, (int)len);
	int status = 0;

	*ca = bio ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
	if (*ca && own->key) {
		own->cert = PEM_read_bio_X509(bio, NULL, no_password, NULL);
		/* Else the first handshake would fail, for a reason harder to read. */
		if (!own->cert || X509_check_private_key(own->cert, own->key) != 1)
			status = tls_fail(err, "the server's certificate for us");
	}
	if (!*ca)
		status = tls_fail(err, "the server's CA");
	BIO_free(bio);
	return status;
}

static int
write_question(struct buf *out, EVP_PKEY *key, struct err *err)
{
	BIO *bio;

	if (!key) {
		buf_puts(out, TLS_TRUST_ASK);
		return 0;
	}
	bio = BIO_new(BIO_s_mem());
	if (bio && PEM_write_bio_PUBKEY(bio, key))
		append(out, bio);
	BIO_free(bio);
	return out->len ? 0 : tls_fail(err, "write our public key");
}

static int
read_reply(int fd, const struct wait *wait, struct buf *reply, struct err *err)
{
	while (reply->len < REPLY_MAX) {
		char *room = buf_reserve(reply, 4096);
		ssize_t got = tcp_receive(fd, room, 4096, wait, err);

		if (got <= 0)
			return (int)got;
		reply->len += (size_t)got;
		reply->data[reply->len] = '\0';
	}
	errno = EMSGSIZE;
	return err_set(err, "more than %d bytes", REPLY_MAX);
}

int
tls_trust_ask(const struct addr *peer, const struct wait *wait, X509 **ca,
	struct tls_identity *own, struct err *err)
{
	struct buf question = {0}, reply = {0};
	int fd = tcp_socket(addr_family(peer), wait->how, err);
	int status = -1;

	if (fd >= 0 && write_question(&question, own->key, err) == 0 &&
		tcp_connect(fd, peer, wait, err) == 0 &&
		tcp_send(fd, question.data, question.len, wait, err) == 0 &&
		read_reply(fd, wait, &reply, err) == 0)
		status = tls_trust_read(buf_text(&reply), reply.len, ca, own, err);
	if (fd >= 0)
		close(fd);
	buf_free(&question);
	buf_free(&reply);
	return status < 0 ? err_prefix(err, "ask for the CA") : 0;
}

int
tls_trust_decode(const char *text, X509 **ca, struct err *err)
{
	size_t len = strlen(text);
	unsigned char *der = alloc_zero(len / 4 + 1, 3);
	const unsigned char *at = der;
	int size = EVP_DecodeBlock(der, (const unsigned char *)text, (int)len);

	*ca = size > 0 ? d2i_X509(NULL, &at, size) : NULL;
	free(der);
	return *ca ? 0 : tls_fail(err, "not a certificate in base64 of DER");
}
