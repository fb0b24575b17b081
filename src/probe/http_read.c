/* HTTP messages read with llhttp, the parser of Node.js, one message at a time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <llhttp.h>

#include "base/alloc.h"
#include "probe/http.h"

struct http_reader {
	llhttp_t parser;
	llhttp_settings_t settings;
	enum http_side side;
	bool head; /* the reply being read answers a HEAD */
	struct http_message message;
};

static int
on_headers_complete(llhttp_t *parser)
{
	struct http_reader *reader = parser->data;
	struct http_message *message = &reader->message;

	if (parser->http_major != 1) {
		llhttp_set_error_reason(parser, "version is not HTTP/1.x");
		return -1;
	}
	message->headed = true;
	message->http10 = parser->http_minor == 0;
	message->status = parser->status_code;
	message->head = reader->side == HTTP_REQUESTS && parser->method == HTTP_HEAD;
	return reader->head ? 1 : 0;
}

static int
on_header_field_complete(llhttp_t *parser)
{
	struct http_reader *reader = parser->data;

	reader->message.trailers += reader->message.headed;
	return 0;
}

static int
on_body(llhttp_t *parser, const char *bytes, size_t len)
{
	struct http_reader *reader = parser->data;

	(void)bytes;
	reader->message.body_bytes += (int64_t)len;
	return 0;
}

/* Interim replies (100 Continue, 103 Early Hints) announce another one: RFC 9110, 15.2. */
static int
on_message_complete(llhttp_t *parser)
{
	struct http_reader *reader = parser->data;
	struct http_message *message = &reader->message;

	if (reader->side == HTTP_REPLIES && message->status / 100 == 1 &&
		message->status != 101) {
		*message = (struct http_message){0};
		return 0;
	}
	message->complete = true;
	message->keep = llhttp_should_keep_alive(parser);
	return HPE_PAUSED;
}

struct http_reader *
http_reader_new(enum http_side side)
{
	struct http_reader *reader = alloc_zero(1, sizeof(*reader));

	reader->side = side;
	llhttp_settings_init(&reader->settings);
	reader->settings.on_headers_complete = on_headers_complete;
	reader->settings.on_header_field_complete = on_header_field_complete;
	reader->settings.on_body = on_body;
	reader->settings.on_message_complete = on_message_complete;
	http_reader_reset(reader);
	return reader;
}

void
http_reader_free(struct http_reader *reader)
{
	free(reader);
}

void
http_reader_reset(struct http_reader *reader)
{
	llhttp_init(&reader->parser,
		reader->side == HTTP_REQUESTS ? HTTP_REQUEST : HTTP_RESPONSE,
		&reader->settings);
	reader->parser.data = reader;
	reader->head = false;
	reader->message = (struct http_message){0};
}

void
http_reader_next(struct http_reader *reader, bool head)
{
	if (llhttp_get_errno(&reader->parser) == HPE_PAUSED)
		llhttp_resume(&reader->parser);
	reader->head = head;
	reader->message = (struct http_message){0};
}

static int
refuse(const struct http_reader *reader, struct err *err)
{
	const char *reason = llhttp_get_error_reason(&reader->parser);

	return err_set(err, "not HTTP: %s (%s)", reason && *reason ? reason : "malformed",
		llhttp_errno_name(llhttp_get_errno(&reader->parser)));
}

ssize_t
http_reader_feed(struct http_reader *reader, const char *bytes, size_t len, struct err *err)
{
	llhttp_errno_t status;

	if (reader->message.complete || len == 0)
		return 0;
	status = llhttp_execute(&reader->parser, bytes, len);
	if (status == HPE_OK)
		return (ssize_t)len;
	if (status == HPE_PAUSED)
		return llhttp_get_error_pos(&reader->parser) - bytes;
	if (status == HPE_PAUSED_UPGRADE)
		return err_set(err, "not HTTP/1.1: the peer switches to another protocol");
	return refuse(reader, err);
}

int
http_reader_end(struct http_reader *reader, struct err *err)
{
	llhttp_errno_t status;

	if (reader->message.complete)
		return 0;
	status = llhttp_finish(&reader->parser);
	if (status == HPE_OK || status == HPE_PAUSED) {
		reader->message.keep = false;
		if (reader->message.complete)
			return 0;
	}
	return err_set(err, "the connection was closed in the middle of a message");
}

const struct http_message *
http_reader_message(const struct http_reader *reader)
{
	return &reader->message;
}

int
http_reply_feed(struct http_reader *reader, const char *bytes, size_t len, struct err *err)
{
	ssize_t taken = http_reader_feed(reader, bytes, len, err);

	if (taken == (ssize_t)len)
		return 0;
	errno = EBADMSG;
	if (taken < 0)
		return -1;
	return err_set(err, "%zu bytes behind the end of the reply", len - (size_t)taken);
}

int
http_reply_cut(struct http_reader *reader, bool started, struct err *err)
{
	if (started && http_reader_end(reader, err) == 0)
		return 0;
	errno = started ? EBADMSG : ECONNRESET;
	return started ? -1 : err_set(err, "the connection was closed before any reply");
}

int
http_reply_check(const struct http_reader *reader, const char *path, struct err *err)
{
	int status = reader->message.status;

	if (status / 100 == 2 || status == 304)
		return 0;
	errno = EBADMSG;
	return err_set(err, "the reply to %s is status %d", path, status);
}
