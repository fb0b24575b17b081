/* HTTPS and DNS at one port, and what both were asked. */
#include "probe/https_site.h"

#include "base/buf.h"
#include "probe/http.h"
#include "probe/responder.h"
#include "probe/tls_service.h"

#define TTL_SECONDS 3600 /* no run is longer */

struct desk {
	struct tls_site site;
	struct responder *responder;
	struct buf kept, last; /* replies: the connection goes on, or ends */
	int64_t requests;
};

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

/* The last reply. Without a farewell the session would not be good for another connection. */
static int
reply_last(struct tls *tls, const char *bytes, size_t len)
{
	tls_write(tls, bytes, len, NULL);
	tls_end(tls);
	return -1;
}

static int
take_bytes(struct tls *tls, void *state, const char *bytes, size_t len, void *context)
{
	static const char refusal[] = "HTTP/1.1 400 Bad Request\r\n"
				      "Content-Length: 0\r\nConnection: close\r\n\r\n";
	struct desk *desk = context;
	struct http_reader *reader = state;

	while (len > 0) {
		ssize_t taken = http_reader_feed(reader, bytes, len, NULL);
		const struct http_message *message = http_reader_message(reader);

		if (taken < 0)
			return reply_last(tls, refusal, sizeof(refusal) - 1);
		bytes += taken;
		len -= (size_t)taken;
		if (!message->complete)
			continue;
		desk->requests++;
		if (!message->keep)
			return reply_last(tls, desk->last.data, desk->last.len);
		if (tls_write(tls, desk->kept.data, desk->kept.len, NULL) < 0)
			return -1;
		http_reader_next(reader, false);
	}
	return 0;
}

static void
on_datagram(void *context)
{
	const struct tls_site *site = context;
	const struct desk *desk = site->context;

	responder_datagram(desk->responder);
}

/* A client's first request is not measured, so not counted either. */
static void
print_counters(const struct desk *desk)
{
	const struct tls_site *site = &desk->site;
	int64_t firsts = site->asked;
	int64_t queries = responder_queries(desk->responder);

	record_count(stdout, "queries", queries > firsts ? queries - firsts : 0);
	record_count(stdout, "connections",
		site->handshakes > firsts ? site->handshakes - firsts : 0);
	record_count(stdout, "requests", desk->requests > firsts ? desk->requests - firsts : 0);
	record_count(stdout, "server_resumed", site->resumed);
	record_count(stdout, "server_early", site->early);
	record_count(stdout, "server_failed", site->failed);
}

int
https_site_serve(const struct https_site *site, const struct placement *placement,
	const struct probe_call *call, struct err *err)
{
	static const struct tls_service https = {open_reader, close_reader, take_bytes};
	const struct responder_setting names = {.ttl = TTL_SECONDS, .address = &call->addr};
	struct desk desk = {
		.site.service = &https,
		.site.context = &desk,
		.site.server.spin = placement->wait == WAIT_SPIN,
		.site.server.datagram = on_datagram,
		.site.setting = site->setting,
		.site.name = "*." ZONE_NAME,
	};
	struct http_reply reply = {.size = site->size, .keep = true};
	int status = placement_apply(placement, CPU_SERVER, err);

	desk.responder = responder_new(&names, &desk.site.server);
	http_write_reply(&desk.kept, &reply);
	reply.keep = false;
	http_write_reply(&desk.last, &reply);
	if (status == 0)
		status = tls_setup(err);
	if (status == 0)
		status = tls_site_run(&desk.site, call, err);
	if (status == 0)
		print_counters(&desk);
	tls_site_free(&desk.site);
	responder_free(desk.responder);
	buf_free(&desk.kept);
	buf_free(&desk.last);
	return status;
}
