/* A serving half that speaks TLS: probe/server.h does the sockets, this the CA of the run, who
 * may ask for it, handshakes and their counters; the probe only sees plain bytes. */
#ifndef PROBE_TLS_SERVICE_H
#define PROBE_TLS_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/tls.h"
#include "net/tls_keys.h"
#include "probe/server.h"

/* What the probe does inside. */
struct tls_service {
	/* State for a new connection, and its end. */
	void *(*open)(void *context);
	void (*close)(void *state);

	/* Plain bytes came; replies go out with tls_write(). -1 ends the connection. */
	int (*take)(struct tls *tls, void *state, const char *bytes, size_t len, void *context);
};

struct tls_site {
	/* Filled by the probe. */
	const struct tls_service *service;
	void *context;
	struct server server; /* `spin` and `idle_ns` may be set */
	struct tls_setting setting;
	const char *name;         /* whom the certificate is for */
	size_t least_certificate; /* bytes; 0: as it comes */
	bool expect_resumed; /* which handshakes are measured: resumed ones, or full ones */

	/* What is printed in the end. */
	int64_t handshakes, resumed, early, failed;
	int64_t asked;   /* for the CA: each time a client's first handshake follows */
	int64_t *cpu_ns; /* of the measured handshakes */
	size_t cpu_count, cpu_cap;

	struct tls_identity ca, own;
	SSL_CTX *tls_context;
	struct buf trust; /* the reply to who asks for the CA */
	bool warm_up;     /* somebody asked: the handshake that follows is not measured */
};

/* Make the CA and all else, then as server_run(). Ended with tls_site_free() in any case. */
int tls_site_run(struct tls_site *site, const struct probe_call *call, struct err *err);

/* `handshakes`, `server_resumed`, `server_early` and `server_failed`. */
void tls_site_print(const struct tls_site *site);

void tls_site_free(struct tls_site *site);

#endif
