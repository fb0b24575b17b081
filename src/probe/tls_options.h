/* The options of a probe that speaks TLS, the same in all of them. */
#ifndef PROBE_TLS_OPTIONS_H
#define PROBE_TLS_OPTIONS_H

#include "base/err.h"
#include "base/opts.h"
#include "net/tls_context.h"

enum session_how { SESSION_FULL, SESSION_RESUMED, SESSION_EARLY };

struct tls_options {
	int version; /* enum tls_version */
	int how;     /* enum session_how */
	int key;     /* enum tls_key */
	int group;   /* enum tls_group */
	int big;
	int mutual;
	const char *name;
	const char *ca; /* "": ask the server */
};

/* Refuse what cannot be: a usage error. */
int tls_options_check(const struct tls_options *options, struct err *err);

struct tls_setting tls_options_setting(const struct tls_options *options);

/* Start OpenSSL, before any other use of it. 0, -1, or PROBE_UNSUPPORTED when it lacks the
 * group.
 */
int tls_options_start(const struct tls_options *options, struct err *err);

#define TLS_CHOICE(owner, member, key, word, words, text)                                      \
	{                                                                                      \
		.name = key, .type = OPT_CHOICE, .offset = offsetof(owner, member),            \
		.default_text = word, .choices = words, .help = text                           \
	}

#define TLS_TEXT(owner, member, key, word, text)                                               \
	{                                                                                      \
		.name = key, .type = OPT_TEXT, .offset = offsetof(owner, member),              \
		.default_text = word, .help = text                                             \
	}

#define TLS_OPTIONS(owner, tls)                                                                \
	TLS_CHOICE(owner, tls.version, "version", "1.3", TLS_VERSION_CHOICES, "of TLS"),       \
		TLS_CHOICE(owner, tls.how, "session", "full", "full|resumed|early",            \
			"full handshakes, resumed ones, or resumed with the request as early " \
			"data (1.3)"),                                                         \
		TLS_CHOICE(owner, tls.key, "key", "ecdsa-p256", TLS_KEY_CHOICES,               \
			"of the certificate and its CA (a CA of RSA has 2048 bits)"),          \
		TLS_CHOICE(owner, tls.group, "group", "x25519", TLS_GROUP_CHOICES,             \
			"of the key exchange"),                                                \
		TLS_CHOICE(owner, tls.big, "chain", "small", "small|big",                      \
			"the server's certificate: of usual size, or more than ten TCP "       \
			"segments"),                                                           \
		TLS_CHOICE(owner, tls.mutual, "mutual", "off", "off|on",                       \
			"the client shows a certificate, too"),                                \
		TLS_TEXT(owner, tls.name, "name", "server.rttmatrix.test",                     \
			"whom the server's certificate is for; the client insists on it"),     \
		TLS_TEXT(owner, tls.ca, "ca", "",                                              \
			"for a server that is not ours: the CA to trust, base64 of its DER")

#endif
