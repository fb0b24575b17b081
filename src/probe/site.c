/* Answers HTTP requests with prepared replies, and counts them. */
#include "probe/site.h"

#include "net/tcp.h"
#include "probe/server.h"

/* One reply for each way a request can differ. */
#define REPLY_HEAD 1
#define REPLY_HTTP10 2
#define REPLY_KEEP 4
#define REPLY_KINDS 8

static const char bad_request[] = "HTTP/1.1 400 Bad Request\r\n"
				  "Content-Length: 0\r\nConnection: close\r\n\r\n";

struct desk {
	struct server server;
	struct buf replies[REPLY_KINDS];
	const struct site *site;
	int64_t most; /* connections open at once */
	int64_t requests;
};

static void
make_replies(struct desk *desk, const struct site *site)
{
	for (int kind = 0; kind < REPLY_KINDS; kind++) {
		struct http_reply reply = {
			.framing = site->framing,
			.size = site->size,
			.head = kind & REPLY_HEAD,
			.http10 = kind & REPLY_HTTP10,
			.keep = kind & REPLY_KEEP,
		};

		http_write_reply(&desk->replies[kind], &reply);
	}
}

static void *
open_reader(void *context)
{
	(void)context;
	return http_reader_new(HTTP_REQUESTS);
}

static void
close_reader(void *state)
{
	http_reader_free(state);
}

static void
reply_to(struct desk *desk, struct session *session, const struct http_message *message)
{
	bool keep = message->keep && !desk->site->never_keep;
	const struct buf *reply = &desk->replies[(message->head ? REPLY_HEAD : 0) |
						 (message->http10 ? REPLY_HTTP10 : 0) |
						 (keep ? REPLY_KEEP : 0)];

	session->out = reply->data;
	session->out_left = reply->len;
	session->closing = !keep;
	desk->requests++;
}

/* To be closed by a reset. */
static int
reset(const struct session *session)
{
	tcp_linger_zero(session->fd, NULL);
	return -1;
}

static int
tell_listening(void *context, struct err *err)
{
	struct desk *desk = context;

	return desk->site->listening(desk->site->context, &desk->server.bound, err);
}

static int
take_request(struct session *session, void *context)
{
	struct desk *desk = context;
	struct http_reader *reader = session->state;
	ssize_t taken = http_reader_feed(reader, session->in.data, session->in.len, NULL);
	const struct http_message *message = http_reader_message(reader);

	if (taken < 0) {
		session->out = bad_request;
		session->out_left = sizeof(bad_request) - 1;
		session->closing = true;
		return 0;
	}
	session_take(session, (size_t)taken);
	if (message->complete) {
		if (desk->site->most && desk->server.open > desk->most) {
			desk->most = desk->server.open;
			desk->site->most(desk->site->context);
		}
		if (desk->site->reset && !message->keep)
			return reset(session);
		reply_to(desk, session, message);
		http_reader_next(reader, false);
	}
	return 0;
}

static const struct service service = {
	.open = open_reader,
	.close = close_reader,
	.request = take_request,
};

int
site_serve(const struct site *site, const struct placement *placement,
	const struct probe_call *call, struct err *err)
{
	struct desk desk = {
		.server.service = &service,
		.server.context = &desk,
		.server.spin = placement->wait == WAIT_SPIN,
		.server.idle_ns = site->idle_ns,
		.server.grace_ns = site->grace_ns,
		.server.listening = site->listening ? tell_listening : NULL,
		.site = site,
	};
	int status = placement_apply(placement, CPU_SERVER, err);

	if (status)
		return status;
	probe_raise_files();
	make_replies(&desk, site);
	status = server_run(&desk.server, call, err);
	for (int kind = 0; kind < REPLY_KINDS; kind++)
		buf_free(&desk.replies[kind]);
	if (status)
		return status;
	record_count(stdout, "connections", desk.server.accepted);
	record_count(stdout, "requests", desk.requests);
	return 0;
}
