/* HTTP/1.1 messages (RFC 9112): written for every way of framing a body, and read with llhttp.
 */
#ifndef PROBE_HTTP_H
#define PROBE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* How the end of a reply is known, and with it whether the connection can be kept. In the order
 * of FRAMING_CHOICES. */
enum http_framing {
	FRAMING_LENGTH,   /* Content-Length */
	FRAMING_CHUNKED,  /* Transfer-Encoding: chunked */
	FRAMING_TRAILERS, /* chunked, with a trailer field behind */
	FRAMING_204,      /* No Content */
	FRAMING_304,      /* Not Modified: an ETag, no body */
	FRAMING_HEAD,     /* a HEAD request: Content-Length announced, no body */
	FRAMING_10,       /* an HTTP/1.0 request: closed behind the reply */
	FRAMING_EOF,      /* no length: the body ends where the connection does */
};

#define FRAMING_CHOICES "length|chunked|trailers|204|304|head|http10|eof"

/* Append a GET (or HEAD) request. !keep adds `Connection: close`. */
void http_write_request(struct buf *out, enum http_framing framing, bool keep, const char *path,
	const char *host);

/* What a reply depends on, besides its framing. */
struct http_reply {
	enum http_framing framing;
	size_t size; /* of the body, where there is one */
	bool head;   /* answers a HEAD: no body bytes */
	bool http10; /* answers HTTP/1.0: no chunks, and keeping must be said */
	bool keep;   /* the connection stays open */
};

void http_write_reply(struct buf *out, const struct http_reply *reply);

enum http_side { HTTP_REQUESTS, HTTP_REPLIES };

/* What is known of the message being read. */
struct http_message {
	bool headed;   /* the header section is complete */
	bool complete; /* the whole message is */
	bool keep;     /* complete, and the connection may carry another */
	bool head;     /* request: its method is HEAD */
	bool http10;   /* its version is 1.0 */
	int status;    /* reply: 200 … */
	int64_t body_bytes;
	int64_t trailers; /* fields behind a chunked body */
};

struct http_reader;

/* A reader of the messages of one side of a connection. Free it with http_reader_free(). */
struct http_reader *http_reader_new(enum http_side side);
void http_reader_free(struct http_reader *reader);

/* Start over for a new connection. */
void http_reader_reset(struct http_reader *reader);

/* A new message on the same connection; `head`: it answers a HEAD and has no body. */
void http_reader_next(struct http_reader *reader, bool head);

/* Read on; stops at the end of one message. Returns how many bytes were taken, or -1 with an
 * error that says what is wrong with them. */
ssize_t http_reader_feed(
	struct http_reader *reader, const char *bytes, size_t len, struct err *err);

/* The peer closed: completes a message that ends there, fails in the middle of any other. */
int http_reader_end(struct http_reader *reader, struct err *err);

const struct http_message *http_reader_message(const struct http_reader *reader);

/* What a client does with a reply. These leave the kind of failure in errno: EBADMSG is a reply
 * that is wrong, ECONNRESET a connection that was lost before any byte of it. */

/* As http_reader_feed(), but bytes behind the end of the reply are an error. */
int http_reply_feed(struct http_reader *reader, const char *bytes, size_t len, struct err *err);

/* The peer closed while a reply was due, of which bytes had come (`started`) or none. 0 when
 * the reply ends there. */
int http_reply_cut(struct http_reader *reader, bool started, struct err *err);

/* Is its status 2xx or 304? `path` is what was asked for. */
int http_reply_check(const struct http_reader *reader, const char *path, struct err *err);

/* Can the values of the options `path` and `host` stand in a request? */
int http_check_target(const char *path, const char *host, struct err *err);

#endif
