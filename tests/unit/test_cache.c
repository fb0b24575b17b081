/* The caching resolver between a client and a server that are this test's own sockets. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "net/dns.h"
#include "net/udp.h"
#include "probe/cache.h"

#define PATIENCE_MS 5000

static struct addr loopback;
static int server, client;
static struct cache *cache;

static void
set_up(void)
{
	struct addr bound;
	struct err err = {0};

	addr_parse("127.0.0.1:0", &loopback, NULL);
	server = udp_bind(&loopback, &bound, &err);
	cache = cache_new(&loopback, &bound, &err);
	CHECK_TEXT(err.text, "");
	CU_ASSERT_PTR_NOT_NULL_FATAL(cache);
	CHECK_INT(cache_start(cache, &err), 0);
	client = udp_connect(cache_bound(cache), &err);
}

static void
tear_down(void)
{
	cache_free(cache);
	close(server);
	close(client);
}

/* A query for nNUMBER.rttmatrix.test A. */
static size_t
make_query(unsigned char *bytes, uint16_t id, int number)
{
	static const unsigned char head[] = "\x00\x00\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00",
				   tail[] = "\x09rttmatrix\x04test\x00\x00\x01\x00\x01";
	size_t len = 12;

	memcpy(bytes, head, len);
	bytes[0] = (unsigned char)(id >> 8);
	bytes[1] = (unsigned char)id;
	bytes[len] = (unsigned char)sprintf((char *)bytes + len + 1, "n%d", number);
	len += 1U + bytes[len];
	memcpy(bytes + len, tail, sizeof(tail) - 1);
	return len + sizeof(tail) - 1;
}

static ssize_t
receive(int fd, unsigned char *bytes, size_t size, struct addr *from)
{
	struct pollfd item = {.fd = fd, .events = POLLIN};

	*from = (struct addr){.len = sizeof(from->sock)};
	if (poll(&item, 1, PATIENCE_MS) != 1)
		return -1;
	return recvfrom(fd, bytes, size, 0, &from->sock.any, &from->len);
}

static void
ask(uint16_t id, int number)
{
	unsigned char bytes[DNS_SIZE];
	size_t len = make_query(bytes, id, number);

	CHECK_INT(send(client, bytes, len, 0), len);
}

/* The server's turn: one query comes, and is answered with `rcode`, an address if that is 0. */
static void
serve(enum dns_rcode rcode, uint32_t ttl, int id_off_by)
{
	unsigned char bytes[DNS_SIZE];
	struct addr from;
	struct dns_message query;
	struct dns_writer reply;
	ssize_t got = receive(server, bytes, sizeof(bytes), &from);

	CU_ASSERT_FATAL(got > 0);
	CHECK_INT(dns_read(bytes, (size_t)got, &query, NULL), 0);
	bytes[1] = (unsigned char)(bytes[1] + id_off_by);
	dns_write_reply(&reply, bytes, &query, rcode);
	if (rcode == DNS_NOERROR)
		dns_write_address(&reply, DNS_QUESTION_AT, DNS_A, ttl, "abcd");
	CHECK_INT(
		sendto(server, reply.bytes, reply.len, 0, &from.sock.any, from.len), reply.len);
}

static struct dns_message
answer(void)
{
	unsigned char bytes[DNS_SIZE];
	struct addr from;
	struct dns_message message = {0};
	ssize_t got = receive(client, bytes, sizeof(bytes), &from);

	CU_ASSERT_FATAL(got > 0);
	CHECK_INT(dns_read(bytes, (size_t)got, &message, NULL), 0);
	return message;
}

static void
test_hit(void)
{
	struct dns_message reply;

	set_up();
	ask(1, 7);
	serve(DNS_NOERROR, 60, 0);
	reply = answer();
	CHECK_INT(reply.id, 1);
	CHECK_INT(reply.answers, 1);
	for (uint16_t id = 2; id < 50; id++) {
		ask(id, 7);
		reply = answer();
		CHECK_INT(reply.id, id);
		CHECK_INT(reply.answers, 1);
		CHECK_BETWEEN(reply.ttl_min, 55, 60);
		CHECK_INT(reply.authoritative, 0);
		CHECK_INT(reply.recursion_available, 1);
	}
	ask(50, 8); /* another name is another question */
	serve(DNS_NOERROR, 60, 0);
	CHECK_TEXT(answer().question.name, "n8.rttmatrix.test");
	cache_stop(cache);
	CHECK_INT(cache_counts(cache).queries, 50);
	CHECK_INT(cache_counts(cache).forwarded, 2);
	tear_down();
}

static void
test_expiry(void)
{
	set_up();
	ask(1, 7);
	serve(DNS_NOERROR, 1, 0);
	CHECK_INT(answer().answers, 1);
	clock_sleep_until(clock_now() + NS_PER_S + 50 * NS_PER_MS);
	ask(2, 7);
	serve(DNS_NOERROR, 0, 0); /* not to be kept at all */
	CHECK_INT(answer().id, 2);
	ask(3, 7);
	serve(DNS_NOERROR, 60, 0);
	CHECK_INT(answer().id, 3);
	cache_stop(cache);
	CHECK_INT(cache_counts(cache).forwarded, 3);
	tear_down();
}

static void
test_failures_pass(void)
{
	set_up();
	for (uint16_t id = 1; id <= 4; id++) {
		enum dns_rcode rcode = id % 2 ? DNS_NXDOMAIN : DNS_SERVFAIL;

		ask(id, 7);
		serve(rcode, 0, 0);
		CHECK_INT(answer().rcode, rcode);
	}
	cache_stop(cache);
	CHECK_INT(cache_counts(cache).forwarded, 4);
	tear_down();
}

/* A reply with another identifier is nobody's; rubbish is counted; the right one still counts.
 */
static void
test_wrong_replies(void)
{
	struct addr from;
	unsigned char bytes[DNS_SIZE];

	set_up();
	ask(1, 7);
	serve(DNS_NOERROR, 60, 1);
	ask(2, 7);
	CU_ASSERT_FATAL(receive(server, bytes, sizeof(bytes), &from) > 0);
	CHECK_INT(sendto(server, "rubbish", 7, 0, &from.sock.any, from.len), 7);
	ask(3, 7);
	serve(DNS_NOERROR, 60, 0);
	CHECK_INT(answer().id, 3);
	CHECK_INT(send(client, "rubbish", 7, 0), 7);
	ask(4, 7);
	CHECK_INT(answer().id, 4);
	cache_stop(cache);
	CHECK_INT(cache_counts(cache).forwarded, 3);
	CHECK_INT(cache_counts(cache).malformed, 2);
	tear_down();
}

/* More questions than the table has room for, in flight and kept. */
static void
test_crowd(void)
{
	set_up();
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 3000; i++) {
			char name[64];

			ask((uint16_t)i, i);
			if (round == 0)
				serve(DNS_NOERROR, 60, 0);
			else {
				struct pollfd items[] = {{.fd = server, .events = POLLIN},
					{.fd = client, .events = POLLIN}};

				CHECK_BETWEEN(poll(items, 2, PATIENCE_MS), 1, 2);
				if (items[0].revents)
					serve(DNS_NOERROR, 60, 0);
			}
			snprintf(name, sizeof(name), "n%d.rttmatrix.test", i);
			CHECK_TEXT(answer().question.name, name);
		}
	cache_stop(cache);
	CHECK_INT(cache_counts(cache).queries, 6000);
	CHECK_BETWEEN(cache_counts(cache).forwarded, 3000 + 1, 6000);
	tear_down();
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"hit", test_hit},
		{"expiry", test_expiry},
		{"failures pass", test_failures_pass},
		{"wrong replies", test_wrong_replies},
		{"crowd", test_crowd},
		CU_TEST_INFO_NULL,
	};

	return check_main("cache", tests);
}
