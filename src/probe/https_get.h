/* One GET of https://NAME/ as a client does it: look the name up, connect, shake hands, ask and
 * read; with the moments that curl names. Connections and sessions can be used again.
 *
 * Every function that fails leaves the reason in errno as well: see net/tcp.h; EBADMSG is an
 * answer that is wrong. */
#ifndef PROBE_HTTPS_GET_H
#define PROBE_HTTPS_GET_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/addr.h"
#include "net/lookup.h"
#include "net/tls.h"
#include "net/wait.h"
#include "probe/http.h"

#define HTTPS_NAME_SIZE 64

/* Since the start of the request; what was not done took no time. */
struct https_times {
	int64_t namelookup_ns, connect_ns, appconnect_ns, starttransfer_ns, total_ns;
};

/* How the session of a new connection begins. */
enum https_session { HTTPS_FULL, HTTPS_RESUMED, HTTPS_EARLY };

struct https_conn {
	int fd; /* -1: not open */
	struct tls tls;
};

struct https_client {
	/* Filled by the probe. */
	struct addr peer; /* what every name is to resolve to */
	struct wait wait;
	struct lookup_setting names;
	SSL_CTX *context;
	struct tls_tickets tickets;
	int64_t size; /* of a reply's body */

	char name[HTTPS_NAME_SIZE];
	struct lookup *lookup;
	struct http_reader *reader;
	struct buf message;
};

/* To be ended with https_client_free(); the context is the probe's until then. */
void https_client_init(struct https_client *client);
void https_client_free(struct https_client *client);

/* Get ready for a request of nNUMBER in our zone: a resolver that knows nothing, and a socket.
 * No part of what is timed. */
int https_prepare(
	struct https_client *client, uint32_t number, struct https_conn *conn, struct err *err);

/* The request that was prepared, on a new connection, which is left open. A session that did
 * not begin as it should is an error: its times would not be what they say. */
int https_get(struct https_client *client, struct https_conn *conn, enum https_session session,
	struct https_times *times, struct err *err);

/* The same request again on that connection. */
int https_get_again(struct https_client *client, struct https_conn *conn,
	struct https_times *times, struct err *err);

/* Say goodbye, before that wait for a ticket if the context keeps any: on TLS 1.3 it may follow
 * the reply. */
int https_end(
	struct https_client *client, struct https_conn *conn, bool ticket, struct err *err);

/* Close it, if it is open. Keeps errno. */
void https_close(struct https_conn *conn);

#endif
