/* The responder: TCP through the shared server, UDP beside it in the same loop. */
#include "probe/responder.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"

#define SEEN 4096 /* questions whose number of queries is remembered */
#define LATER 256 /* replies that wait for their time */
#define QUERY_SIZE 4096
#define LENGTH_SIZE 2 /* before each message over TCP (RFC 1035, 4.2.2) */

struct seen {
	uint64_t question;
	int64_t queries;
};

struct later {
	int64_t due_ns;
	struct addr peer;
	struct dns_writer reply;
};

struct responder {
	struct server *server;
	const struct responder_setting *setting;
	int64_t queries, queries_tcp, dropped, malformed;
	struct seen seen[SEEN];
	struct later later[LATER]; /* a ring: the delay is the same for all */
	size_t first_later, later_count;
};

/* ---- what is answered ---- */

static bool
in_zone(const char *name)
{
	size_t len = strlen(name), zone = sizeof(ZONE_NAME) - 1;

	return len >= zone && !strcmp(name + len - zone, ZONE_NAME) &&
	       (len == zone || name[len - zone - 1] == '.');
}

/* False: the name has none of this type. */
static bool
address_of(const struct responder_setting *setting, const struct dns_question *question,
	unsigned char out[static 16])
{
	const struct addr *own = setting->address;
	enum dns_type type = (enum dns_type)question->type;

	if ((type != DNS_A && type != DNS_AAAA) || !zone_address(question->name, type, out))
		return false;
	if (!own)
		return true;
	if ((addr_family(own) == AF_INET6) != (type == DNS_AAAA))
		return false;
	if (type == DNS_AAAA)
		memcpy(out, &own->sock.v6.sin6_addr, 16);
	else
		memcpy(out, &own->sock.v4.sin_addr, 4);
	return true;
}

static void
add_answers(const struct responder_setting *setting, const struct dns_question *question,
	struct dns_writer *reply)
{
	unsigned char address[16];
	size_t owner = DNS_QUESTION_AT;

	/* The names of a chain have their addresses themselves, should anybody ask. */
	for (int64_t i = 1; i <= setting->chain && *question->name == 'n'; i++) {
		char label[24];

		snprintf(label, sizeof(label), "c%lld", (long long)i);
		owner = dns_write_cname(reply, owner, setting->ttl, label, DNS_QUESTION_AT);
	}
	if (address_of(setting, question, address))
		dns_write_address(
			reply, owner, (enum dns_type)question->type, setting->ttl, address);
}

static enum dns_rcode
right_rcode(const struct dns_message *query)
{
	unsigned char address[16];

	if (query->opcode != 0)
		return DNS_NOTIMP;
	if (query->question.class != DNS_CLASS_IN || !in_zone(query->question.name))
		return DNS_REFUSED;
	return zone_address(query->question.name, DNS_A, address) ? DNS_NOERROR : DNS_NXDOMAIN;
}

static void
write_reply(const struct responder_setting *setting, const void *bytes,
	const struct dns_message *query, bool tcp, struct dns_writer *reply)
{
	enum dns_rcode rcode = setting->rcode ? setting->rcode : right_rcode(query);

	dns_write_reply(reply, bytes, query, rcode);
	if (setting->truncate && !tcp)
		dns_write_truncated(reply);
	else if (rcode == DNS_NOERROR)
		add_answers(setting, &query->question, reply);
	if (!reply->full)
		return;
	/* Only a chain below a very long name gets here. */
	dns_write_reply(reply, bytes, query, DNS_SERVFAIL);
}

/* Is this one of the first queries of its question, which are to be dropped? A question that
 * meets another in the table of those seen starts anew. */
static bool
is_early(struct responder *responder, const struct dns_question *question)
{
	uint64_t hash = rng_hash(question->name) * 31 + question->type;
	struct seen *seen = &responder->seen[hash % SEEN];

	if (seen->question != hash)
		*seen = (struct seen){.question = hash};
	return seen->queries++ < responder->setting->drop;
}

/* Read a query and write its reply. False: there is none. */
static bool
reply_to(struct responder *responder, const void *bytes, size_t len, bool tcp,
	struct dns_writer *reply)
{
	const struct responder_setting *setting = responder->setting;
	struct dns_message query;

	if (dns_read(bytes, len, &query, NULL) < 0 || query.reply) {
		responder->malformed++;
		return false;
	}
	responder->queries++;
	responder->queries_tcp += tcp;
	if (setting->silent || (setting->drop && is_early(responder, &query.question))) {
		responder->dropped++;
		return false;
	}
	write_reply(setting, bytes, &query, tcp, reply);
	return true;
}

/* ---- UDP ---- */

static void
send_reply(struct responder *responder, const struct dns_writer *reply, const struct addr *peer)
{
	/* What the kernel does not take is lost, as UDP may be. */
	if (sendto(responder->server->udp_fd, reply->bytes, reply->len, MSG_NOSIGNAL,
		    &peer->sock.any, peer->len) < 0)
		responder->dropped++;
}

static void
keep_for_later(
	struct responder *responder, const struct dns_writer *reply, const struct addr *peer)
{
	struct later *later;

	if (responder->later_count == LATER) {
		responder->dropped++;
		return;
	}
	later = &responder->later[(responder->first_later + responder->later_count++) % LATER];
	*later = (struct later){clock_now() + responder->setting->delay_ns, *peer, *reply};
}

/* Send what is due; tell the server when the next one is. */
static void
send_due(struct responder *responder)
{
	int64_t now = clock_now();

	while (responder->later_count > 0) {
		const struct later *later = &responder->later[responder->first_later];

		if (later->due_ns > now)
			break;
		send_reply(responder, &later->reply, &later->peer);
		responder->first_later = (responder->first_later + 1) % LATER;
		responder->later_count--;
	}
	responder->server->datagram_due_ns =
		responder->later_count ? responder->later[responder->first_later].due_ns : 0;
}

/* One datagram a call, for the next look at the events says whether there is another. */
void
responder_datagram(struct responder *responder)
{
	unsigned char bytes[QUERY_SIZE];
	struct addr peer = {.len = sizeof(peer.sock)};
	struct dns_writer reply;
	ssize_t got = recvfrom(responder->server->udp_fd, bytes, sizeof(bytes), MSG_DONTWAIT,
		&peer.sock.any, &peer.len);

	if (got >= 0 && reply_to(responder, bytes, (size_t)got, false, &reply)) {
		if (responder->setting->delay_ns)
			keep_for_later(responder, &reply, &peer);
		else
			send_reply(responder, &reply, &peer);
	}
	if (responder->later_count > 0)
		send_due(responder);
}

/* ---- TCP ---- */

struct stream {
	unsigned char bytes[LENGTH_SIZE + DNS_SIZE];
};

static void *
stream_open(void *context)
{
	(void)context;
	return alloc_zero(1, sizeof(struct stream));
}

static int
stream_request(struct session *session, void *context)
{
	struct responder *responder = context;
	struct stream *stream = session->state;
	const unsigned char *in = (const unsigned char *)session->in.data;
	struct dns_writer reply;
	size_t len;
	bool answered;

	if (session->in.len < LENGTH_SIZE)
		return 0;
	len = (size_t)in[0] << 8 | in[1];
	if (session->in.len < LENGTH_SIZE + len)
		return 0;
	answered = reply_to(responder, in + LENGTH_SIZE, len, true, &reply);
	session_take(session, LENGTH_SIZE + len);
	if (!answered)
		return responder->setting->silent || responder->setting->drop ? 0 : -1;
	stream->bytes[0] = (unsigned char)(reply.len >> 8);
	stream->bytes[1] = (unsigned char)reply.len;
	memcpy(stream->bytes + LENGTH_SIZE, reply.bytes, reply.len);
	session->out = (const char *)stream->bytes;
	session->out_left = LENGTH_SIZE + reply.len;
	return 0;
}

static const struct service stream_service = {
	.open = stream_open,
	.close = free,
	.request = stream_request,
};

/* ---- both ---- */

static void
on_datagram(void *context)
{
	responder_datagram(context);
}

struct responder *
responder_new(const struct responder_setting *setting, struct server *server)
{
	struct responder *responder = alloc_zero(1, sizeof(*responder));

	responder->setting = setting;
	responder->server = server;
	return responder;
}

void
responder_free(struct responder *responder)
{
	free(responder);
}

int64_t
responder_queries(const struct responder *responder)
{
	return responder->queries;
}

int
responder_run(
	const struct responder_setting *setting, const struct probe_call *call, struct err *err)
{
	struct server server = {
		.service = &stream_service,
		.spin = setting->spin,
		.datagram = setting->tcp_only ? NULL : on_datagram,
	};
	struct responder *responder = responder_new(setting, &server);
	int status;

	server.context = responder;
	status = server_run(&server, call, err);
	if (status == 0) {
		record_count(stdout, "queries", responder->queries);
		record_count(stdout, "queries_tcp", responder->queries_tcp);
		if (responder->dropped || setting->silent || setting->drop)
			record_count(stdout, "dropped", responder->dropped);
		if (responder->malformed)
			record_count(stdout, "malformed", responder->malformed);
	}
	responder_free(responder);
	return status;
}
