/* The bare OpenSSL loop that probe-tls is held against: connect, full handshake, 64 bytes each
 * way. The client verifies chain and name; both sides are pinned to what the probe negotiates.
 *
 * usage: bare_tls SAMPLES CLIENT-CORE SERVER-CORE 1.2|1.3 ecdsa-p256|rsa-2048|rsa-3072|ed25519
 * Prints nanoseconds from before connect to the end of the handshake, one connection a line. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME "server.rttmatrix.test"
#define SIZE 64

static void
die(const char *what)
{
	perror(what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

static int64_t
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void
pin(const char *core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)atoi(core), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity");
}

static EVP_PKEY *
make_key(const char *kind, unsigned rsa_bits)
{
	EVP_PKEY *key;

	if (!strcmp(kind, "ecdsa-p256"))
		key = EVP_EC_gen("P-256");
	else if (!strcmp(kind, "ed25519"))
		key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	else
		key = EVP_RSA_gen(rsa_bits);
	if (!key)
		die("key");
	return key;
}

static void
extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	if (!extension || !X509_add_ext(cert, extension, -1))
		die("extension");
	X509_EXTENSION_free(extension);
}

/* With the extensions of the probe's: a CA when `issuer` is NULL. */
static X509 *
make_cert(EVP_PKEY *key, EVP_PKEY *signer, X509 *issuer)
{
	const unsigned char *name = (const unsigned char *)(issuer ? NAME : "bare CA");
	X509 *cert = X509_new();

	X509_set_version(cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), issuer ? 2 : 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(
		X509_get_subject_name(cert), "CN", MBSTRING_ASC, name, -1, -1, 0);
	X509_set_issuer_name(cert, X509_get_subject_name(issuer ? issuer : cert));
	if (issuer) {
		extend(cert, issuer, NID_basic_constraints, "critical,CA:FALSE");
		extend(cert, issuer, NID_key_usage, "critical,digitalSignature");
		extend(cert, issuer, NID_ext_key_usage, "serverAuth");
		extend(cert, issuer, NID_authority_key_identifier, "keyid:always");
		extend(cert, issuer, NID_subject_alt_name, "DNS:" NAME);
	} else {
		extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
		extend(cert, cert, NID_key_usage, "critical,keyCertSign");
		extend(cert, cert, NID_subject_key_identifier, "hash");
	}
	if (X509_sign(cert, signer,
		    EVP_PKEY_get_id(signer) == EVP_PKEY_ED25519 ? NULL : EVP_sha256()) <= 0)
		die("sign");
	return cert;
}

static SSL_CTX *
make_context(const SSL_METHOD *method, const char *version, const char *kind)
{
	SSL_CTX *context = SSL_CTX_new(method);
	int number = strcmp(version, "1.2") ? TLS1_3_VERSION : TLS1_2_VERSION;
	const char *schemes = "rsa_pss_rsae_sha256:RSA+SHA256";

	if (!strcmp(kind, "ecdsa-p256"))
		schemes = "ECDSA+SHA256";
	else if (!strcmp(kind, "ed25519"))
		schemes = "ed25519";
	if (!context || !SSL_CTX_set_min_proto_version(context, number) ||
		!SSL_CTX_set_max_proto_version(context, number) ||
		!SSL_CTX_set_cipher_list(
			context, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256") ||
		!SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") ||
		!SSL_CTX_set1_groups_list(
			context, number == TLS1_2_VERSION ? "X25519:P-256" : "X25519") ||
		!SSL_CTX_set1_sigalgs_list(context, schemes))
		die("context");
	return context;
}

static void
serve(int listener, SSL_CTX *context)
{
	char bytes[SIZE];
	int yes = 1;

	for (;;) {
		int fd = accept(listener, NULL, NULL);
		SSL *ssl = SSL_new(context);

		if (fd < 0)
			die("accept");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		SSL_set_fd(ssl, fd);
		if (SSL_accept(ssl) == 1)
			while (SSL_read(ssl, bytes, SIZE) == SIZE)
				SSL_write(ssl, bytes, SIZE);
		SSL_free(ssl);
		close(fd);
	}
}

static int64_t
connect_once(const struct sockaddr_in *peer, SSL_CTX *context)
{
	char bytes[SIZE] = "";
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	int64_t start, end;
	SSL *ssl;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	start = now();
	if (connect(fd, (const struct sockaddr *)peer, sizeof(*peer)) < 0)
		die("connect");
	ssl = SSL_new(context);
	SSL_set1_host(ssl, NAME);
	SSL_set_tlsext_host_name(ssl, NAME);
	SSL_set_fd(ssl, fd);
	if (SSL_connect(ssl) != 1)
		die("SSL_connect");
	end = now();
	if (SSL_write(ssl, bytes, SIZE) != SIZE || SSL_read(ssl, bytes, SIZE) != SIZE)
		die("exchange");
	SSL_shutdown(ssl);
	SSL_free(ssl);
	close(fd);
	return end - start;
}

/* Everything both halves need, made before they part. */
static void
make_contexts(const char *version, const char *kind, SSL_CTX **server, SSL_CTX **client)
{
	EVP_PKEY *ca_key = make_key(kind, 2048);
	EVP_PKEY *key = make_key(kind, strcmp(kind, "rsa-3072") ? 2048 : 3072);
	X509 *ca = make_cert(ca_key, ca_key, NULL);
	X509 *cert = make_cert(key, ca_key, ca);

	*server = make_context(TLS_server_method(), version, kind);
	*client = make_context(TLS_client_method(), version, kind);
	if (!SSL_CTX_use_certificate(*server, cert) || !SSL_CTX_use_PrivateKey(*server, key) ||
		!X509_STORE_add_cert(SSL_CTX_get_cert_store(*client), ca))
		die("certificate");
	SSL_CTX_set_verify(*client, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(*client, SSL_SESS_CACHE_OFF);
	X509_free(cert);
	X509_free(ca);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
}

int
main(int argc, char **argv)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	SSL_CTX *server_context, *client_context;
	int64_t *taken;
	pid_t server;
	int samples;

	if (argc != 6 || (samples = atoi(argv[1])) <= 0)
		return 2;
	OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	make_contexts(argv[4], argv[5], &server_context, &client_context);
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		listen(listener, 128) < 0 ||
		getsockname(listener, (struct sockaddr *)&addr, &len) < 0)
		die("listen");
	signal(SIGPIPE, SIG_IGN);
	server = fork();
	if (server < 0)
		die("fork");
	if (server == 0) {
		pin(argv[3]);
		serve(listener, server_context);
	}
	pin(argv[2]);
	taken = calloc((size_t)samples, sizeof(*taken));
	if (!taken)
		die("calloc");
	connect_once(&addr, client_context);
	for (int i = 0; i < samples; i++)
		taken[i] = connect_once(&addr, client_context);
	for (int i = 0; i < samples; i++)
		printf("%" PRId64 "\n", taken[i]);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	free(taken);
	return 0;
}
