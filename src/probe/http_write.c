/* HTTP requests and replies as bytes. */
#include "probe/http.h"

#define CHUNK_MAX 4096
#define ETAG "\"rttmatrix\""

void
http_write_request(struct buf *out, enum http_framing framing, bool keep, const char *path,
	const char *host)
{
	buf_printf(out, "%s %s HTTP/1.%d\r\nHost: %s\r\nUser-Agent: rttmatrix\r\n",
		framing == FRAMING_HEAD ? "HEAD" : "GET", path, framing != FRAMING_10, host);
	if (framing == FRAMING_304)
		buf_puts(out, "If-None-Match: " ETAG "\r\n");
	if (!keep)
		buf_puts(out, "Connection: close\r\n");
	buf_puts(out, "\r\n");
}

static void
write_bytes(struct buf *out, size_t count)
{
	char *room = buf_reserve(out, count);

	for (size_t i = 0; i < count; i++)
		room[i] = (char)('a' + i % 26);
	out->len += count;
	out->data[out->len] = '\0';
}

/* Two chunks at least when there are two bytes: one chunk would leave the seam untested. */
static void
write_chunks(struct buf *out, size_t size, bool trailers)
{
	size_t most = (size + 1) / 2 < CHUNK_MAX ? (size + 1) / 2 : CHUNK_MAX;

	while (size > 0) {
		size_t count = size < most ? size : most;

		buf_printf(out, "%zx\r\n", count);
		write_bytes(out, count);
		buf_puts(out, "\r\n");
		size -= count;
	}
	buf_puts(out, trailers ? "0\r\nX-Checked: yes\r\n\r\n" : "0\r\n\r\n");
}

/* How it is really framed: what HTTP/1.0 cannot read falls back to a length (RFC 9112, 6.1). */
static enum http_framing
effective(const struct http_reply *reply)
{
	switch (reply->framing) {
	case FRAMING_CHUNKED:
	case FRAMING_TRAILERS:
		return reply->http10 ? FRAMING_LENGTH : reply->framing;
	case FRAMING_HEAD:
	case FRAMING_10:
		return FRAMING_LENGTH;
	default:
		return reply->framing;
	}
}

void
http_write_reply(struct buf *out, const struct http_reply *reply)
{
	enum http_framing framing = effective(reply);
	bool bodyless = reply->head || framing == FRAMING_204 || framing == FRAMING_304;
	bool keep = reply->keep && (framing != FRAMING_EOF || reply->head);

	buf_printf(out, "HTTP/1.1 %s\r\nServer: rttmatrix\r\n",
		framing == FRAMING_204   ? "204 No Content"
		: framing == FRAMING_304 ? "304 Not Modified"
					 : "200 OK");
	if (framing == FRAMING_304)
		buf_puts(out, "ETag: " ETAG "\r\n");
	else if (framing != FRAMING_204)
		buf_puts(out, "Content-Type: text/plain\r\n");
	if (framing == FRAMING_LENGTH)
		buf_printf(out, "Content-Length: %zu\r\n", reply->size);
	if (framing == FRAMING_TRAILERS)
		buf_puts(out, "Trailer: X-Checked\r\n");
	if (framing == FRAMING_CHUNKED || framing == FRAMING_TRAILERS)
		buf_puts(out, "Transfer-Encoding: chunked\r\n");
	if (!keep)
		buf_puts(out, "Connection: close\r\n");
	else if (reply->http10)
		buf_puts(out, "Connection: keep-alive\r\n");
	buf_puts(out, "\r\n");
	if (bodyless)
		return;
	if (framing == FRAMING_CHUNKED || framing == FRAMING_TRAILERS)
		write_chunks(out, reply->size, framing == FRAMING_TRAILERS);
	else
		write_bytes(out, reply->size);
}

static bool
is_token(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

int
http_check_target(const char *path, const char *host, struct err *err)
{
	if (*path != '/' || !is_token(path))
		return err_set(
			err, "option 'path': '%.60s' is not a path such as /index.html", path);
	if (!is_token(host))
		return err_set(err, "option 'host': '%.60s' is not a host name", host);
	return 0;
}
