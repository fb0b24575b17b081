/* Feeds bytes to the reader of HTTP messages, whole and byte by byte: no crash, no leak, and
 * how they were cut into reads changes nothing. The first byte says whose messages they are:
 * 'q' requests, 'h' replies to HEAD, else replies to GET. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/http.h"
#include "replay.h"

#define MESSAGES_MAX 100

/* What was read of one message, and what came of it. */
struct outcome {
	struct http_message message;
	size_t taken;
	bool refused;
};

REPLAY_MAIN("fuzz_http", 1 << 20)

static struct outcome
read_message(struct http_reader *reader, const char *bytes, size_t len, size_t step)
{
	struct outcome outcome = {0};
	struct err err = {""};

	while (outcome.taken < len && !http_reader_message(reader)->complete) {
		size_t left = len - outcome.taken, most = left < step ? left : step;
		ssize_t taken = http_reader_feed(reader, bytes + outcome.taken, most, &err);

		outcome.refused = taken < 0;
		if (outcome.refused)
			break;
		if ((size_t)taken > most ||
			(taken == 0 && !http_reader_message(reader)->complete))
			abort();
		outcome.taken += (size_t)taken;
	}
	if (outcome.refused ? !*err.text : *err.text != '\0')
		abort();
	outcome.message = *http_reader_message(reader);
	return outcome;
}

/* Of a message that was refused, how far it got depends on the reads. */
static void
check_same(const struct outcome *whole, const struct outcome *cut)
{
	const struct http_message *a = &whole->message, *b = &cut->message;

	if (whole->refused != cut->refused)
		abort();
	if (whole->refused)
		return;
	if (whole->taken != cut->taken || a->headed != b->headed ||
		a->complete != b->complete || a->keep != b->keep || a->head != b->head ||
		a->http10 != b->http10 || a->status != b->status ||
		a->body_bytes != b->body_bytes || a->trailers != b->trailers)
		abort();
}

/* What a client makes of it: 0 only for a reply that is whole and alone. */
static void
check_reply(const char *bytes, size_t len, bool head)
{
	struct http_reader *reader = http_reader_new(HTTP_REPLIES);
	const struct http_message *message = http_reader_message(reader);
	struct err err = {""};
	int status;

	http_reader_next(reader, head);
	status = http_reply_feed(reader, bytes, len, &err);
	if (status == 0 && !message->complete) {
		status = http_reply_cut(reader, len > 0, &err);
		if (status == 0 && !message->complete)
			abort();
	}
	if (status == 0)
		status = http_reply_check(reader, "/", &err);
	if ((status < 0) != (*err.text != '\0'))
		abort();
	http_reader_free(reader);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum http_side side = size > 0 && data[0] == 'q' ? HTTP_REQUESTS : HTTP_REPLIES;
	bool head = size > 0 && data[0] == 'h';
	struct http_reader *whole = http_reader_new(side), *cut = http_reader_new(side);
	const char *bytes = (const char *)data + (size > 0);
	size_t left = size - (size > 0);

	if (side == HTTP_REPLIES)
		check_reply(bytes, left, head);
	for (int i = 0; i < MESSAGES_MAX && left > 0; i++) {
		struct outcome first, second;

		http_reader_next(whole, head);
		http_reader_next(cut, head);
		first = read_message(whole, bytes, left, left);
		second = read_message(cut, bytes, left, 1);
		check_same(&first, &second);
		if (first.refused || !first.message.complete || !first.message.keep)
			break;
		bytes += first.taken;
		left -= first.taken;
	}
	http_reader_free(whole);
	http_reader_free(cut);
	return 0;
}
