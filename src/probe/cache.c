/* The caching resolver: one loop over the socket of its clients and that of its server. */
#include "probe/cache.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/thread.h"
#include "net/dns.h"
#include "net/udp.h"

#define ENTRIES 1024
#define PENDING 64 /* queries on their way; the oldest makes room */
#define QUERY_SIZE 4096

/* What was answered; a question that meets another in the table takes its place. */
struct entry {
	char name[DNS_NAME_SIZE];
	uint16_t type, class;
	int64_t since_ns, until_ns; /* until: 0 for an empty entry */
	unsigned char reply[DNS_SIZE];
	size_t len;
};

struct pending {
	bool open;
	uint16_t id;
	struct addr client;
	unsigned char query[DNS_SIZE]; /* header and question, as the client wrote them */
	struct dns_question question;
};

struct cache {
	int fd, server_fd, wake_fd;
	struct addr bound;
	struct rng rng;
	struct cache_counts counts;
	size_t next_pending;
	struct pending pending[PENDING];
	struct entry entries[ENTRIES];
	pthread_t thread;
	bool threaded;
};

struct cache *
cache_new(const struct addr *listen, const struct addr *server, struct err *err)
{
	struct cache *cache = alloc_zero(1, sizeof(*cache));
	uint64_t seed;

	cache->server_fd = -1;
	cache->wake_fd = -1;
	cache->fd = udp_bind(listen, &cache->bound, err);
	if (cache->fd < 0)
		goto fail;
	cache->server_fd = udp_connect(server, err);
	if (cache->server_fd < 0)
		goto fail;
	cache->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (cache->wake_fd < 0 || getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
		err_sys(err, "set up the cache");
		goto fail;
	}
	rng_seed(&cache->rng, seed, 0);
	return cache;
fail:
	cache_free(cache);
	return NULL;
}

void
cache_free(struct cache *cache)
{
	if (!cache)
		return;
	cache_stop(cache);
	if (cache->fd >= 0)
		close(cache->fd);
	if (cache->server_fd >= 0)
		close(cache->server_fd);
	if (cache->wake_fd >= 0)
		close(cache->wake_fd);
	free(cache);
}

const struct addr *
cache_bound(const struct cache *cache)
{
	return &cache->bound;
}

struct cache_counts
cache_counts(const struct cache *cache)
{
	return cache->counts;
}

static struct entry *
entry_of(struct cache *cache, const struct dns_question *question)
{
	return &cache->entries[(rng_hash(question->name) * 31 + question->type) % ENTRIES];
}

static bool
same_question(const struct dns_question *a, const struct dns_question *b)
{
	return a->type == b->type && a->class == b->class && !strcmp(a->name, b->name);
}

static void
send_to(struct cache *cache, const void *bytes, size_t len, const struct addr *client)
{
	/* What the kernel does not take is lost, as UDP may be: the client asks again. */
	(void)!sendto(cache->fd, bytes, len, MSG_NOSIGNAL, &client->sock.any, client->len);
}

/* Answer from the table. False: it is not there, or has expired. */
static bool
answer(struct cache *cache, const unsigned char *query, const struct dns_question *question,
	const struct addr *client)
{
	const struct entry *entry = entry_of(cache, question);
	unsigned char reply[DNS_SIZE];
	int64_t now = clock_now();

	if (entry->until_ns <= now || entry->type != question->type ||
		entry->class != question->class || strcmp(entry->name, question->name) != 0)
		return false;
	memcpy(reply, entry->reply, entry->len);
	dns_reuse(reply, entry->len, query, (uint32_t)((now - entry->since_ns) / NS_PER_S));
	send_to(cache, reply, entry->len, client);
	return true;
}

/* An identifier that cannot be guessed and that nobody waits for. */
static uint16_t
draw_id(struct cache *cache)
{
	for (;;) {
		uint16_t id = (uint16_t)rng_next(&cache->rng);
		size_t i = 0;

		while (i < PENDING && !(cache->pending[i].open && cache->pending[i].id == id))
			i++;
		if (i == PENDING)
			return id;
	}
}

static void
forward(struct cache *cache, const unsigned char *bytes, const struct dns_message *query,
	const struct addr *client)
{
	struct pending *pending = &cache->pending[cache->next_pending];
	struct dns_writer writer;
	uint16_t id = draw_id(cache);

	dns_write_query(&writer, id, bytes, query);
	if (writer.full)
		return;
	cache->next_pending = (cache->next_pending + 1) % PENDING;
	*pending = (struct pending){
		.open = true, .id = id, .client = *client, .question = query->question};
	memcpy(pending->query, bytes, query->question.end);
	cache->counts.forwarded++;
	/* A failed send is a lost query. */
	(void)!send(cache->server_fd, writer.bytes, writer.len, MSG_NOSIGNAL);
}

static void
on_query(struct cache *cache)
{
	unsigned char bytes[QUERY_SIZE];
	struct addr client = {.len = sizeof(client.sock)};
	struct dns_message query;
	ssize_t got = recvfrom(
		cache->fd, bytes, sizeof(bytes), MSG_DONTWAIT, &client.sock.any, &client.len);

	if (got < 0)
		return;
	if (dns_read(bytes, (size_t)got, &query, NULL) < 0 || query.reply ||
		query.opcode != 0) {
		cache->counts.malformed++;
		return;
	}
	cache->counts.queries++;
	if (!answer(cache, bytes, &query.question, &client))
		forward(cache, bytes, &query, &client);
}

static void
keep(struct cache *cache, const unsigned char *bytes, size_t len,
	const struct dns_message *reply)
{
	struct entry *entry = entry_of(cache, &reply->question);

	if (reply->rcode != DNS_NOERROR || reply->truncated || reply->answers == 0)
		return;
	memcpy(entry->name, reply->question.name, sizeof(entry->name));
	entry->type = reply->question.type;
	entry->class = reply->question.class;
	entry->since_ns = clock_now();
	entry->until_ns = entry->since_ns + reply->ttl_min * NS_PER_S;
	memcpy(entry->reply, bytes, len);
	entry->len = len;
}

static void
on_reply(struct cache *cache)
{
	unsigned char bytes[DNS_SIZE];
	struct dns_message reply;
	struct pending *pending = cache->pending;
	ssize_t got = recv(cache->server_fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);

	if (got < 0)
		return; /* an error of an earlier query, such as a refusal: it is lost */
	if ((size_t)got > sizeof(bytes) || !(dns_read(bytes, (size_t)got, &reply, NULL) == 0) ||
		!reply.reply) {
		cache->counts.malformed++;
		return;
	}
	while (pending < cache->pending + PENDING &&
		!(pending->open && pending->id == reply.id &&
			same_question(&pending->question, &reply.question)))
		pending++;
	if (pending == cache->pending + PENDING)
		return; /* late, or not an answer to us */
	keep(cache, bytes, (size_t)got, &reply);
	dns_reuse(bytes, (size_t)got, pending->query, 0);
	send_to(cache, bytes, (size_t)got, &pending->client);
	pending->open = false;
}

int
cache_run(struct cache *cache, int stop_fd, int64_t deadline_ns, struct err *err)
{
	struct pollfd items[] = {
		{.fd = cache->fd, .events = POLLIN},
		{.fd = cache->server_fd, .events = POLLIN},
		{.fd = stop_fd, .events = POLLIN},
	};

	while (clock_now() < deadline_ns) {
		int count = poll(items, 3, clock_poll_ms(deadline_ns));

		if (count < 0 && errno != EINTR)
			return err_sys(err, "poll");
		if (count <= 0)
			continue;
		if (items[2].revents)
			return 0;
		if (items[0].revents)
			on_query(cache);
		if (items[1].revents)
			on_reply(cache);
	}
	return err_set(err, "cache: not stopped before the deadline");
}

int
cache_serve(const struct probe_call *call, const struct addr *server, struct err *err)
{
	struct cache *cache = cache_new(&call->addr, server, err);
	int status = -1;

	if (!cache)
		return -1;
	probe_ready(&cache->bound);
	if (cache_run(cache, call->stop_fd, call->deadline_ns, err) == 0) {
		record_count(stdout, "queries", cache->counts.queries);
		record_count(stdout, "passed_on", cache->counts.forwarded);
		if (cache->counts.malformed)
			record_count(stdout, "malformed", cache->counts.malformed);
		status = 0;
	}
	cache_free(cache);
	return status;
}

static void *
run_thread(void *data)
{
	struct cache *cache = data;

	cache_run(cache, cache->wake_fd, INT64_MAX, NULL);
	return NULL;
}

int
cache_start(struct cache *cache, struct err *err)
{
	if (thread_start(&cache->thread, run_thread, cache, err) < 0)
		return err_prefix(err, "the cache");
	cache->threaded = true;
	return 0;
}

void
cache_stop(struct cache *cache)
{
	uint64_t one = 1;

	if (!cache->threaded)
		return;
	if (write(cache->wake_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(cache->thread, NULL);
	cache->threaded = false;
}
