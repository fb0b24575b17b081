/* DNS messages: what is written reads back, what is broken is refused at every length; the
 * zone.
 */
#include <stdlib.h>

#include "check.h"
#include "net/dns.h"
#include "probe/responder.h"

/* id 1234, RD, one question: n7.rttmatrix.test A IN */
static const unsigned char query_bytes[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
					   "\x02n7\x09rttmatrix\x04test\x00\x00\x01\x00\x01";
#define QUERY_LEN (sizeof(query_bytes) - 1)

static void
test_read_query(void)
{
	struct dns_message message;
	struct err err = {0};

	CHECK_INT(dns_read(query_bytes, QUERY_LEN, &message, &err), 0);
	CHECK_TEXT(err.text, "");
	CHECK_INT(message.id, 0x1234);
	CHECK_INT(message.reply, 0);
	CHECK_INT(message.opcode, 0);
	CHECK_INT(message.recursion_desired, 1);
	CHECK_TEXT(message.question.name, "n7.rttmatrix.test");
	CHECK_INT(message.question.type, DNS_A);
	CHECK_INT(message.question.class, DNS_CLASS_IN);
	CHECK_INT(message.question.end, QUERY_LEN);
}

/* Cut anywhere, or with a byte too many, it is refused, and nothing beyond is looked at. */
static void
test_cut(void)
{
	for (size_t len = 0; len < QUERY_LEN; len++) {
		unsigned char *exact = malloc(len + 1);
		struct dns_message message;
		struct err err = {0};

		memcpy(exact, query_bytes, len);
		CHECK_INT(dns_read(exact, len, &message, &err), -1);
		CU_ASSERT(err.text[0] != '\0');
		free(exact);
	}
}

struct broken {
	size_t at;
	unsigned char byte;
	const char *reason;
};

static void
test_broken(void)
{
	static const struct broken table[] = {
		{5, 2, "a DNS message with 2 questions"},
		{5, 0, "a DNS message with 0 questions"},
		{7, 1, "record 1 of 1 does not fit into its 35 bytes"},
		{12, 0xc0, "the question's name has a label of type 0xc0"},
		{12, 0x42, "the question's name has a label of type 0x40"},
		{12, 63, "the question's name is cut short"},
		{30, 1, "the question's name is cut short"},
		{12, 0, ""},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		unsigned char bytes[QUERY_LEN];
		struct dns_message message;
		struct err err = {0};

		memcpy(bytes, query_bytes, QUERY_LEN);
		bytes[table[i].at] = table[i].byte;
		CHECK_INT(dns_read(bytes, QUERY_LEN, &message, &err), -1);
		if (*table[i].reason)
			CHECK_TEXT(err.text, table[i].reason);
	}
}

static void
test_odd_names(void)
{
	unsigned char bytes[300] = "\x00\x01\x00\x00\x00\x01";
	size_t len = 12;
	struct dns_message message;

	memcpy(bytes + len,
		"\x04"
		"A.\\\xff\x01_\x00\x00\x01\x00\x01",
		12);
	CHECK_INT(dns_read(bytes, len + 12, &message, NULL), 0);
	CHECK_TEXT(message.question.name, "a\\046\\092\\255._");

	/* 255 bytes are the most: 3 labels of 63, one of 61. */
	for (int last = 61; last <= 62; last++) {
		len = 12;
		for (int i = 0; i < 4; i++) {
			int label = i < 3 ? 63 : last;

			bytes[len++] = (unsigned char)label;
			memset(bytes + len, 0xff, (size_t)label);
			len += (size_t)label;
		}
		memcpy(bytes + len, "\x00\x00\x01\x00\x01", 5);
		CHECK_INT(dns_read(bytes, len + 5, &message, NULL), last == 61 ? 0 : -1);
	}
}

static void
test_reply(void)
{
	static const unsigned char four[] = {198, 51, 100, 8};
	struct dns_message query, reply;
	struct dns_writer writer;
	size_t owner = DNS_QUESTION_AT;

	CHECK_INT(dns_read(query_bytes, QUERY_LEN, &query, NULL), 0);
	dns_write_reply(&writer, query_bytes, &query, DNS_NOERROR);
	owner = dns_write_cname(&writer, owner, 90, "c1", DNS_QUESTION_AT);
	dns_write_address(&writer, owner, DNS_A, 60, four);
	CHECK_INT(writer.full, 0);
	CHECK_INT(dns_read(writer.bytes, writer.len, &reply, NULL), 0);
	CHECK_INT(reply.reply, 1);
	CHECK_INT(reply.authoritative, 1);
	CHECK_INT(reply.recursion_desired, 1);
	CHECK_INT(reply.truncated, 0);
	CHECK_INT(reply.id, 0x1234);
	CHECK_INT(reply.answers, 2);
	CHECK_INT(reply.ttl_min, 60);
	CHECK_INT(memcmp(writer.bytes + writer.len - 4, four, 4), 0);

	dns_write_reply(&writer, query_bytes, &query, DNS_NXDOMAIN);
	dns_write_truncated(&writer);
	CHECK_INT(dns_read(writer.bytes, writer.len, &reply, NULL), 0);
	CHECK_INT(reply.rcode, DNS_NXDOMAIN);
	CHECK_INT(reply.truncated, 1);
	CHECK_INT(reply.answers, 0);
}

/* Never longer than a message may be: then it is full, and what it has still reads. */
static void
test_full(void)
{
	struct dns_message query;
	struct dns_writer writer;
	int records = 0;

	CHECK_INT(dns_read(query_bytes, QUERY_LEN, &query, NULL), 0);
	dns_write_reply(&writer, query_bytes, &query, DNS_NOERROR);
	for (; !writer.full && records < 100; records++)
		dns_write_address(&writer, DNS_QUESTION_AT, DNS_A, 1, "abcd");
	CHECK_INT(records, (DNS_SIZE - QUERY_LEN) / 16 + 1);
	CHECK_BETWEEN(writer.len, DNS_SIZE - 16, DNS_SIZE);
}

static void
test_reuse(void)
{
	unsigned char other[QUERY_LEN];
	struct dns_message query, reply;
	struct dns_writer writer;

	memcpy(other, query_bytes, QUERY_LEN);
	memcpy(other, "\x56\x78\x00\x00", 4); /* another identifier, no recursion asked for */
	other[13] = 'N';
	CHECK_INT(dns_read(query_bytes, QUERY_LEN, &query, NULL), 0);
	dns_write_reply(&writer, query_bytes, &query, DNS_NOERROR);
	dns_write_address(&writer, DNS_QUESTION_AT, DNS_A, 60, "abcd");
	dns_reuse(writer.bytes, writer.len, other, 20);
	CHECK_INT(dns_read(writer.bytes, writer.len, &reply, NULL), 0);
	CHECK_INT(reply.id, 0x5678);
	CHECK_INT(reply.recursion_desired, 0);
	CHECK_INT(reply.recursion_available, 1);
	CHECK_INT(reply.authoritative, 0);
	CHECK_INT(reply.ttl_min, 40);
	CHECK_INT(writer.bytes[13], 'N');
	dns_reuse(writer.bytes, writer.len, other, 41);
	CHECK_INT(dns_read(writer.bytes, writer.len, &reply, NULL), 0);
	CHECK_INT(reply.ttl_min, 0);

	dns_write_query(&writer, 9, other, &query);
	CHECK_INT(dns_read(writer.bytes, writer.len, &reply, NULL), 0);
	CHECK_INT(reply.id, 9);
	CHECK_INT(reply.recursion_desired, 1);
	CHECK_INT(writer.len, QUERY_LEN);
}

static void
test_zone(void)
{
	static const char *const none[] = {"", "rttmatrix.test", "n.rttmatrix.test",
		"n1.rttmatrix.tes", "n1.rttmatrix.test.x", "n1rttmatrix.test",
		"x1.rttmatrix.test", "n1234567890.rttmatrix.test", "n-1.rttmatrix.test",
		"c1.rttmatrix.test", "c.n1.rttmatrix.test", "c1n1.rttmatrix.test",
		"c1.c1.n1.rttmatrix.test"};
	static const unsigned char four[] = {198, 51, 100, 1}, six[] = {0x20, 1, 0xd, 0xb8};
	unsigned char out[16];
	struct addr addr;

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		CHECK_INT(zone_address(none[i], DNS_A, out), 0);
	CHECK_INT(zone_address("n254.rttmatrix.test", DNS_A, out), 1);
	CHECK_INT(memcmp(out, four, 4), 0);
	CHECK_INT(zone_address("c3.n999999999.rttmatrix.test", DNS_AAAA, out), 1);
	CHECK_INT(memcmp(out, six, 4), 0);
	CHECK_INT(out[12] << 24 | out[13] << 16 | out[14] << 8 | out[15], 999999999);

	CHECK_INT(addr_parse("198.51.100.8:53", &addr, NULL), 0);
	CHECK_INT(zone_has("n7.rttmatrix.test", &addr), 1);
	CHECK_INT(zone_has("n8.rttmatrix.test", &addr), 0);
	CHECK_INT(addr_parse("[2001:db8::7]:53", &addr, NULL), 0);
	CHECK_INT(zone_has("n7.rttmatrix.test", &addr), 1);
	CHECK_INT(zone_has("n8.rttmatrix.test", &addr), 0);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"read a query", test_read_query},
		{"cut anywhere", test_cut},
		{"broken", test_broken},
		{"odd names", test_odd_names},
		{"write a reply", test_reply},
		{"full", test_full},
		{"use again", test_reuse},
		{"zone", test_zone},
		CU_TEST_INFO_NULL,
	};

	return check_main("dns", tests);
}
