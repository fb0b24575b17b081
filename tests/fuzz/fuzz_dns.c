/* Feeds bytes to the reader of DNS messages and, what it takes, to everything that works on
 * such messages: no access outside their bounds, and what is written reads back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/dns.h"
#include "replay.h"

REPLAY_MAIN("fuzz_dns", 4 << 20)

static void
must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* A reply with a chain and both kinds of address; one that did not fit is full. */
static void
check_reply(const void *data, const struct dns_message *query)
{
	static const unsigned char address[16] = {0x20, 1, 0xd, 0xb8};
	struct dns_writer writer;
	struct dns_message again;
	size_t owner;

	dns_write_reply(&writer, data, query, DNS_NOERROR);
	owner = dns_write_cname(&writer, DNS_QUESTION_AT, 60, "c1", DNS_QUESTION_AT);
	dns_write_address(&writer, owner, DNS_A, 60, address);
	dns_write_address(&writer, owner, DNS_AAAA, 30, address);
	if (writer.full)
		return;
	must(dns_read(writer.bytes, writer.len, &again, NULL) == 0, "a reply reads back");
	must(again.reply && again.answers == 3 && again.ttl_min == 30, "three answers");
	must(!strcmp(again.question.name, query->question.name), "the name is the same");
	dns_reuse(writer.bytes, writer.len, data, 45);
	must(dns_read(writer.bytes, writer.len, &again, NULL) == 0, "a used one reads back");
	must(again.id == query->id && again.ttl_min == 0, "its age is taken off");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {""};
	struct dns_message message, again;
	struct dns_writer writer;
	uint8_t *copy;

	if (dns_read(data, size, &message, &err) < 0) {
		must(*err.text, "a refusal says why");
		return 0;
	}
	must(message.question.end <= size, "the question is within the message");
	must(strlen(message.question.name) < DNS_NAME_SIZE, "the name fits");
	dns_write_query(&writer, 7, data, &message);
	must(writer.full || (dns_read(writer.bytes, writer.len, &again, NULL) == 0 &&
				    again.id == 7 && !again.reply),
		"a query reads back");
	check_reply(data, &message);
	copy = alloc_zero(size, 1);
	memcpy(copy, data, size);
	dns_reuse(copy, size, data, 1);
	must(dns_read(copy, size, &again, NULL) == 0, "a message used again reads back");
	free(copy);
	return 0;
}
