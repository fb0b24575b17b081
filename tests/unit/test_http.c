/* HTTP framing: what is written reads back, split at every byte; what is broken is refused. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "probe/http.h"

/* Feed bytes[0..len) in two pieces cut at `cut`; returns how many were taken, -1 if refused. */
static ssize_t
feed_split(
	struct http_reader *reader, const char *bytes, size_t len, size_t cut, struct err *err)
{
	ssize_t first = http_reader_feed(reader, bytes, cut, err);
	ssize_t second;

	if (first < 0 || (size_t)first < cut)
		return first;
	second = http_reader_feed(reader, bytes + cut, len - cut, err);
	return second < 0 ? -1 : first + second;
}

struct expected {
	enum http_framing framing;
	int status;
	int64_t body, trailers;
	bool keep;
};

/* Every cut, and every byte by itself, must give the same message. */
static void
read_back(const struct buf *reply, const struct expected *expected, bool head)
{
	for (size_t cut = 0; cut <= reply->len + 1; cut++) {
		struct http_reader *reader = http_reader_new(HTTP_REPLIES);
		const struct http_message *message = http_reader_message(reader);
		struct err err = {0};
		size_t taken = 0;

		http_reader_next(reader, head);
		if (cut <= reply->len)
			taken = (size_t)feed_split(reader, reply->data, reply->len, cut, &err);
		else
			while (taken < reply->len &&
				http_reader_feed(reader, reply->data + taken, 1, &err) == 1)
				taken++;
		CHECK_INT(taken, reply->len);
		CHECK_TEXT(err.text, "");
		if (expected->framing == FRAMING_EOF) {
			CHECK_INT(message->complete, 0);
			CHECK_INT(http_reader_end(reader, &err), 0);
		}
		CHECK_INT(message->complete, 1);
		CHECK_INT(message->status, expected->status);
		CHECK_INT(message->body_bytes, expected->body);
		CHECK_INT(message->trailers, expected->trailers);
		CHECK_INT(message->keep, expected->keep);
		http_reader_free(reader);
	}
}

static void
test_replies(void)
{
	static const struct expected table[] = {
		{FRAMING_LENGTH, 200, 64, 0, true},
		{FRAMING_CHUNKED, 200, 64, 0, true},
		{FRAMING_TRAILERS, 200, 64, 1, true},
		{FRAMING_204, 204, 0, 0, true},
		{FRAMING_304, 304, 0, 0, true},
		{FRAMING_HEAD, 200, 0, 0, true},
		{FRAMING_EOF, 200, 64, 0, false},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		bool head = table[i].framing == FRAMING_HEAD;
		struct http_reply reply = {
			.framing = table[i].framing, .size = 64, .keep = true, .head = head};
		struct buf bytes = {0};

		http_write_reply(&bytes, &reply);
		read_back(&bytes, &table[i], head);
		buf_free(&bytes);
	}
}

static void
test_close(void)
{
	static const struct expected closing = {FRAMING_LENGTH, 200, 3, 0, false};
	static const struct expected kept10 = {FRAMING_LENGTH, 200, 3, 0, true};
	struct buf bytes = {0};

	http_write_reply(&bytes, &(struct http_reply){.framing = FRAMING_LENGTH, .size = 3});
	read_back(&bytes, &closing, false);
	buf_clear(&bytes);
	/* Chunks are beyond HTTP/1.0. */
	http_write_reply(&bytes,
		&(struct http_reply){
			.framing = FRAMING_TRAILERS, .size = 3, .http10 = true, .keep = true});
	CU_ASSERT_PTR_NULL(strstr(bytes.data, "chunked"));
	read_back(&bytes, &kept10, false);
	buf_free(&bytes);
}

static void
test_chunk_sizes(void)
{
	static const size_t sizes[] = {0, 1, 2, 3, 4096, 4097, 8193, 100000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct http_reader *reader = http_reader_new(HTTP_REPLIES);
		struct buf bytes = {0};
		struct err err = {0};

		http_write_reply(&bytes,
			&(struct http_reply){
				.framing = FRAMING_CHUNKED, .size = sizes[i], .keep = true});
		CHECK_INT(http_reader_feed(reader, bytes.data, bytes.len, &err), bytes.len);
		CHECK_INT(http_reader_message(reader)->body_bytes, sizes[i]);
		CHECK_INT(http_reader_message(reader)->complete, 1);
		buf_free(&bytes);
		http_reader_free(reader);
	}
}

static void
test_requests(void)
{
	static const struct {
		enum http_framing framing;
		bool keep, keeps, head, http10;
	} table[] = {
		{FRAMING_LENGTH, true, true, false, false},
		{FRAMING_LENGTH, false, false, false, false},
		{FRAMING_HEAD, true, true, true, false},
		{FRAMING_304, true, true, false, false},
		{FRAMING_10, true, false, false, true},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct buf bytes = {0};

		http_write_request(&bytes, table[i].framing, table[i].keep, "/x?y", "[::1]:80");
		for (size_t cut = 0; cut <= bytes.len; cut++) {
			struct http_reader *reader = http_reader_new(HTTP_REQUESTS);
			const struct http_message *message = http_reader_message(reader);
			struct err err = {0};

			CHECK_INT(feed_split(reader, bytes.data, bytes.len, cut, &err),
				bytes.len);
			CHECK_INT(message->complete, 1);
			CHECK_INT(message->keep, table[i].keeps);
			CHECK_INT(message->head, table[i].head);
			CHECK_INT(message->http10, table[i].http10);
			http_reader_free(reader);
		}
		buf_free(&bytes);
	}
}

/* Two messages in one read: the reader stops between them. */
static void
test_pipelined(void)
{
	static const char two[] =
		"GET / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
	struct http_reader *reader = http_reader_new(HTTP_REQUESTS);
	struct err err = {0};
	ssize_t taken = http_reader_feed(reader, two, sizeof(two) - 1, &err);

	CHECK_INT(taken, 27);
	CHECK_INT(http_reader_message(reader)->head, 0);
	http_reader_next(reader, false);
	CHECK_INT(http_reader_feed(reader, two + taken, sizeof(two) - 1 - (size_t)taken, &err),
		28);
	CHECK_INT(http_reader_message(reader)->head, 1);
	http_reader_free(reader);
}

/* A reply with a body behind the reply to HEAD, on one connection. */
static void
test_head_then_get(void)
{
	struct http_reader *reader = http_reader_new(HTTP_REPLIES);
	struct buf bytes = {0};
	struct err err = {0};
	size_t first;

	http_write_reply(&bytes, &(struct http_reply){.size = 9, .keep = true, .head = true});
	first = bytes.len;
	http_write_reply(&bytes, &(struct http_reply){.size = 9, .keep = true});
	http_reader_next(reader, true);
	CHECK_INT(http_reader_feed(reader, bytes.data, bytes.len, &err), first);
	http_reader_next(reader, false);
	CHECK_INT(http_reader_feed(reader, bytes.data + first, bytes.len - first, &err),
		bytes.len - first);
	CHECK_INT(http_reader_message(reader)->body_bytes, 9);
	buf_free(&bytes);
	http_reader_free(reader);
}

static void
test_interim(void)
{
	static const char bytes[] = "HTTP/1.1 100 Continue\r\n\r\n"
				    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
				    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	struct http_reader *reader = http_reader_new(HTTP_REPLIES);
	struct err err = {0};

	CHECK_INT(http_reader_feed(reader, bytes, sizeof(bytes) - 1, &err), sizeof(bytes) - 1);
	CHECK_INT(http_reader_message(reader)->status, 200);
	CHECK_INT(http_reader_message(reader)->body_bytes, 2);
	CHECK_INT(http_reader_message(reader)->complete, 1);
	http_reader_free(reader);
}

static void
test_refused(void)
{
	static const char *const bad[] = {
		"220 mail.example ESMTP\r\n",
		"SSH-2.0-OpenSSH_9.2\r\n",
		"\x16\x03\x01\x02",
		"HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.1 2OO OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct http_reader *reader = http_reader_new(HTTP_REPLIES);
		struct err err = {0};
		ssize_t taken = http_reader_feed(reader, bad[i], strlen(bad[i]), &err);

		if (taken >= 0)
			fprintf(stderr, "accepted: %s\n", bad[i]);
		CHECK_INT(taken, -1);
		CHECK_INT(strncmp(err.text, "not HTTP: ", 10), 0);
		http_reader_free(reader);
	}
}

static void
test_cut_off(void)
{
	static const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde";

	for (size_t len = 1; len < sizeof(whole) - 1; len++) {
		struct http_reader *reader = http_reader_new(HTTP_REPLIES);
		struct err err = {0};

		CHECK_INT(http_reader_feed(reader, whole, len, &err), len);
		CHECK_INT(http_reader_end(reader, &err), -1);
		CHECK_TEXT(err.text, "the connection was closed in the middle of a message");
		http_reader_free(reader);
	}
}

/* What a client makes of replies, and the kind of failure in errno. */
static void
test_client_side(void)
{
	static const struct {
		const char *bytes;
		int fed, cut, status, error;
		const char *text;
	} table[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0, 0, 0, 0, ""},
		{"HTTP/1.1 304 Not Modified\r\n\r\n", 0, 0, 0, 0, ""},
		{"HTTP/1.1 200 OK\r\n\r\nto the end", 0, 0, 0, 0, ""},
		{"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", 0, 0, -1, EBADMSG,
			"the reply to /a is status 404"},
		{"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", 0, 0, -1, EBADMSG,
			"the reply to /a is status 302"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", -1, 0, 0, EBADMSG,
			"2 bytes behind the end of the reply"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", 0, -1, 0, EBADMSG,
			"the connection was closed in the middle of a message"},
		{"", 0, -1, 0, ECONNRESET, "the connection was closed before any reply"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct http_reader *reader = http_reader_new(HTTP_REPLIES);
		size_t len = strlen(table[i].bytes);
		struct err err = {0};
		int status;

		errno = 0;
		status = http_reply_feed(reader, table[i].bytes, len, &err);
		CHECK_INT(status, table[i].fed);
		if (status == 0 && !http_reader_message(reader)->complete) {
			status = http_reply_cut(reader, len > 0, &err);
			CHECK_INT(status, table[i].cut);
		}
		if (status == 0)
			CHECK_INT(http_reply_check(reader, "/a", &err), table[i].status);
		CHECK_INT(errno, table[i].error);
		CHECK_TEXT(err.text, table[i].text);
		http_reader_free(reader);
	}
}

static void
test_target(void)
{
	struct err err = {0};

	CHECK_INT(http_check_target("/", "", &err), 0);
	CHECK_INT(http_check_target("/a?b=c", "example.org:80", &err), 0);
	CHECK_INT(http_check_target("a", "", &err), -1);
	CHECK_INT(http_check_target("/a b", "", &err), -1);
	CHECK_INT(http_check_target("/a\r\nX: y", "", &err), -1);
	CHECK_INT(http_check_target("/", "a\nb", &err), -1);
	CHECK_TEXT(err.text, "option 'host': 'a\nb' is not a host name");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"replies of every framing, cut everywhere", test_replies},
		{"close and HTTP/1.0", test_close},
		{"chunks", test_chunk_sizes},
		{"requests", test_requests},
		{"two messages in one read", test_pipelined},
		{"GET behind HEAD", test_head_then_get},
		{"interim replies", test_interim},
		{"refused", test_refused},
		{"cut off", test_cut_off},
		{"what a client makes of a reply", test_client_side},
		{"path and host", test_target},
		CU_TEST_INFO_NULL,
	};

	return check_main("http", tests);
}
