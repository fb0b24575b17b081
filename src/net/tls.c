/* The TLS engine over two buffers, and a client on a socket. */
#include "net/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <time.h>

#include "net/tcp.h"

#define RECEIVE_SIZE 16384

static int64_t
thread_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* What OpenSSL made of the last call that returned `status`: 0 when it waits for the peer. */
static int
explain(struct tls *tls, int status, struct err *err)
{
	long verified = SSL_get_verify_result(tls->ssl);

	switch (SSL_get_error(tls->ssl, status)) {
	case SSL_ERROR_WANT_READ:
		return 0;
	case SSL_ERROR_ZERO_RETURN:
		/* Our own farewell would meet a closed socket, but without one OpenSSL takes
		 * the session out of its cache. */
		SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
		errno = 0;
		return err_set(err, "TLS: the peer ended the connection");
	default:
		break;
	}
	if (verified == X509_V_OK || SSL_is_init_finished(tls->ssl))
		return tls_fail(err, "TLS");
	ERR_clear_error();
	errno = EPROTO;
	return err_set(err, "TLS: the peer's certificate: %s",
		X509_verify_cert_error_string(verified));
}

static int
open_engine(struct tls *tls, SSL_CTX *context, struct err *err)
{
	*tls = (struct tls){
		.ssl = SSL_new(context),
		.in = BIO_new(BIO_s_mem()),
		.out = BIO_new(BIO_s_mem()),
	};
	if (tls->ssl && tls->in && tls->out) {
		SSL_set_bio(tls->ssl, tls->in, tls->out);
		return 0;
	}
	BIO_free(tls->in);
	BIO_free(tls->out);
	return tls_fail(err, "open a TLS connection");
}

int
tls_open_client(struct tls *tls, SSL_CTX *context, const char *name, struct err *err)
{
	int64_t start = thread_cpu_ns();

	if (open_engine(tls, context, err) < 0)
		return -1;
	SSL_set_connect_state(tls->ssl);
	SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (!SSL_set1_host(tls->ssl, name) || !SSL_set_tlsext_host_name(tls->ssl, name))
		return tls_fail(err, "set the server's name");
	tls->cpu_ns += thread_cpu_ns() - start;
	return 0;
}

int
tls_open_server(struct tls *tls, SSL_CTX *context, struct err *err)
{
	int64_t start = thread_cpu_ns();

	if (open_engine(tls, context, err) < 0)
		return -1;
	SSL_set_accept_state(tls->ssl);
	tls->early = SSL_get_max_early_data(tls->ssl) > 0;
	tls->cpu_ns += thread_cpu_ns() - start;
	return 0;
}

void
tls_close(struct tls *tls)
{
	SSL_free(tls->ssl);
	*tls = (struct tls){0};
}

int
tls_resume(struct tls *tls, struct tls_tickets *tickets, struct err *err)
{
	return tls_tickets_use(tickets, tls->ssl, err);
}

void
tls_feed(struct tls *tls, const void *bytes, size_t len)
{
	tls->received += (int64_t)len;
	BIO_write(tls->in, bytes, (int)len);
}

size_t
tls_pending(const struct tls *tls, const char **bytes)
{
	long len = BIO_get_mem_data(tls->out, (char **)bytes);

	return len > 0 ? (size_t)len : 0;
}

void
tls_flushed(struct tls *tls)
{
	const char *bytes;

	tls->sent += (int64_t)tls_pending(tls, &bytes);
	BIO_reset(tls->out);
}

int
tls_handshake(struct tls *tls, struct err *err)
{
	int64_t start = thread_cpu_ns();
	int status;

	ERR_clear_error();
	status = SSL_do_handshake(tls->ssl);
	tls->cpu_ns += thread_cpu_ns() - start;
	return status == 1 ? 1 : explain(tls, status, err);
}

/* While early data may come, OpenSSL wants another call than for what follows it. */
static int
read_step(struct tls *tls, void *bytes, size_t len, size_t *got)
{
	if (tls->early) {
		int status = SSL_read_early_data(tls->ssl, bytes, len, got);

		if (status == SSL_READ_EARLY_DATA_SUCCESS)
			return 1;
		if (status == SSL_READ_EARLY_DATA_ERROR)
			return 0;
		tls->early = false;
	}
	return SSL_read_ex(tls->ssl, bytes, len, got);
}

ssize_t
tls_read(struct tls *tls, void *bytes, size_t len, struct err *err)
{
	bool counting = !tls_established(tls);
	int64_t start = counting ? thread_cpu_ns() : 0;
	size_t got = 0;
	int status;

	ERR_clear_error();
	status = read_step(tls, bytes, len, &got);
	if (counting)
		tls->cpu_ns += thread_cpu_ns() - start;
	return status == 1 ? (ssize_t)got : explain(tls, status, err);
}

int
tls_write(struct tls *tls, const void *bytes, size_t len, struct err *err)
{
	size_t written;
	int status;

	ERR_clear_error();
	status = tls->early ? SSL_write_early_data(tls->ssl, bytes, len, &written)
			    : SSL_write_ex(tls->ssl, bytes, len, &written);
	return status == 1 ? 0 : tls_fail(err, "TLS: write");
}

int
tls_write_early(struct tls *tls, const void *bytes, size_t len, struct err *err)
{
	const SSL_SESSION *session = SSL_get0_session(tls->ssl);
	int64_t start = thread_cpu_ns();
	size_t written;
	int status;

	if (!session || SSL_SESSION_get_max_early_data(session) < len) {
		errno = EBADMSG;
		return err_set(
			err, "the server's ticket is not for %zu bytes of early data", len);
	}
	ERR_clear_error();
	status = SSL_write_early_data(tls->ssl, bytes, len, &written);
	tls->cpu_ns += thread_cpu_ns() - start;
	return status == 1 ? 0 : tls_fail(err, "TLS: write early data");
}

void
tls_end(struct tls *tls)
{
	ERR_clear_error();
	SSL_shutdown(tls->ssl);
	ERR_clear_error();
}

int
tls_flush(struct tls *tls, int fd, const struct wait *wait, struct err *err)
{
	const char *bytes;
	size_t len = tls_pending(tls, &bytes);

	if (len > 0 && tcp_send(fd, bytes, len, wait, err) < 0)
		return -1;
	tls_flushed(tls);
	return 0;
}

/* Wait for bytes of the peer and feed them. */
static int
fill(struct tls *tls, int fd, const struct wait *wait, struct err *err)
{
	char bytes[RECEIVE_SIZE];
	ssize_t got = tcp_receive(fd, bytes, sizeof(bytes), wait, err);

	if (got < 0)
		return -1;
	if (got == 0) {
		errno = ECONNRESET;
		return err_set(err, "TLS: the peer closed the connection");
	}
	tls_feed(tls, bytes, (size_t)got);
	return 0;
}

int
tls_connect(struct tls *tls, int fd, const struct wait *wait, struct err *err)
{
	for (;;) {
		int status = tls_handshake(tls, err);
		int reason = errno;

		/* Also after a failure: the alert says to the peer what is wrong. */
		if (tls_flush(tls, fd, wait, status < 0 ? NULL : err) < 0 && status >= 0)
			return -1;
		if (status < 0)
			errno = reason;
		if (status != 0)
			return status < 0 ? -1 : 0;
		if (fill(tls, fd, wait, err) < 0)
			return -1;
	}
}

ssize_t
tls_receive(struct tls *tls, int fd, void *bytes, size_t len, const struct wait *wait,
	struct err *err)
{
	ssize_t got;

	while ((got = tls_read(tls, bytes, len, err)) == 0)
		if (fill(tls, fd, wait, err) < 0)
			return -1;
	if (got < 0 && errno == 0)
		errno = ECONNRESET;
	return got;
}

int
tls_await_ticket(struct tls *tls, int fd, const struct tls_tickets *tickets,
	const struct wait *wait, struct err *err)
{
	char byte;

	if (!tickets->newest && SSL_version(tls->ssl) < TLS1_3_VERSION)
		return tls_no_session(err);
	while (!tickets->newest) {
		ssize_t got = tls_read(tls, &byte, 1, err);

		if (got > 0)
			return err_set(err, "TLS: bytes where a ticket was due");
		if (got < 0 || (!tickets->newest && fill(tls, fd, wait, err) < 0))
			return err_prefix(err, "wait for a ticket");
	}
	return 0;
}

bool
tls_established(const struct tls *tls)
{
	return SSL_is_init_finished(tls->ssl);
}

bool
tls_resumed(const struct tls *tls)
{
	return SSL_session_reused(tls->ssl) == 1;
}

bool
tls_early_accepted(const struct tls *tls)
{
	return SSL_get_early_data_status(tls->ssl) == SSL_EARLY_DATA_ACCEPTED;
}

void
tls_describe(const struct tls *tls, struct tls_facts *facts)
{
	int group = (int)SSL_get_negotiated_group(tls->ssl);
	const char *group_name = group ? SSL_group_to_name(tls->ssl, group) : NULL;
	int signature = NID_undef;

	SSL_get_peer_signature_type_nid(tls->ssl, &signature);
	*facts = (struct tls_facts){
		.version = SSL_get_version(tls->ssl),
		.cipher = SSL_get_cipher_name(tls->ssl),
		.group = group_name ? group_name : "-",
		.signature = signature == NID_undef ? "-" : OBJ_nid2sn(signature),
	};
}
