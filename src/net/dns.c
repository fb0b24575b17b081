/* The bytes of DNS messages. Every access goes through get16() or behind a check of its bounds.
 */
#include "net/dns.h"

#include <stdio.h>
#include <string.h>

#define HEADER_SIZE 12
#define LABEL_MAX 63
#define NAME_MAX_BYTES 255
#define POINTER 0xc0

#define FLAG_QR 0x8000
#define FLAG_AA 0x0400
#define FLAG_TC 0x0200
#define FLAG_RD 0x0100
#define FLAG_RA 0x0080

static uint16_t
get16(const unsigned char *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t
get32(const unsigned char *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static void
put16(unsigned char *at, unsigned value)
{
	at[0] = (unsigned char)(value >> 8);
	at[1] = (unsigned char)value;
}

static void
put32(unsigned char *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value & 0xffff);
}

/* ---- reading ---- */

/* A label's bytes as text: lower case, and \DDD for what a host name does not have (RFC 1035,
 * 5.1). Returns the end of the text. */
static char *
print_label(char *out, const unsigned char *label, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = label[i];

		if (c >= 'A' && c <= 'Z')
			c = (unsigned char)(c - 'A' + 'a');
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')
			*out++ = (char)c;
		else
			out += sprintf(out, "\\%03d", c);
	}
	return out;
}

/* The name of a question. Nothing stands before it that it could point back to. */
static int
read_name(const unsigned char *bytes, size_t len, size_t *at, char name[static DNS_NAME_SIZE],
	struct err *err)
{
	size_t start = *at;
	char *out = name;

	for (;;) {
		size_t label;

		if (*at >= len)
			return err_set(err, "the question's name is cut short");
		label = bytes[(*at)++];
		if (label == 0)
			break;
		if (label > LABEL_MAX)
			return err_set(err, "the question's name has a label of type 0x%02zx",
				label & POINTER);
		if (label > len - *at)
			return err_set(err, "the question's name is cut short");
		if (*at + label - start >= NAME_MAX_BYTES)
			return err_set(err, "the question's name is over 255 bytes long");
		if (out > name)
			*out++ = '.';
		out = print_label(out, bytes + *at, label);
		*at += label;
	}
	*out = '\0';
	return 0;
}

/* Step over the owner of a record: labels, and a pointer or a root at the end. */
static int
skip_name(const unsigned char *bytes, size_t len, size_t *at)
{
	while (*at < len) {
		size_t label = bytes[(*at)++];

		if (label == 0)
			return 0;
		if ((label & POINTER) == POINTER)
			return (*at)++ < len ? 0 : -1;
		if (label > LABEL_MAX)
			return -1;
		*at += label;
	}
	return -1;
}

struct record {
	uint32_t ttl;
	size_t ttl_at;
};

static int
next_record(const unsigned char *bytes, size_t len, size_t *at, struct record *record)
{
	size_t data;

	if (skip_name(bytes, len, at) < 0 || *at > len || len - *at < 10)
		return -1;
	record->ttl_at = *at + 4;
	record->ttl = get32(bytes + record->ttl_at);
	data = get16(bytes + *at + 8);
	*at += 10;
	if (data > len - *at)
		return -1;
	*at += data;
	return 0;
}

static int
read_question(
	const unsigned char *bytes, size_t len, struct dns_question *question, struct err *err)
{
	size_t at = HEADER_SIZE;

	if (get16(bytes + 4) != 1)
		return err_set(err, "a DNS message with %d questions", get16(bytes + 4));
	if (read_name(bytes, len, &at, question->name, err) < 0)
		return -1;
	if (len - at < 4)
		return err_set(err, "the question is cut short");
	question->type = get16(bytes + at);
	question->class = get16(bytes + at + 2);
	question->end = at + 4;
	return 0;
}

/* How many records stand behind the question. */
static int
record_count(const unsigned char *bytes)
{
	return get16(bytes + 6) + get16(bytes + 8) + get16(bytes + 10);
}

static int
read_records(
	const unsigned char *bytes, size_t len, struct dns_message *message, struct err *err)
{
	int count = record_count(bytes);
	size_t at = message->question.end;

	for (int i = 0; i < count; i++) {
		struct record record;

		if (next_record(bytes, len, &at, &record) < 0)
			return err_set(err, "record %d of %d does not fit into its %zu bytes",
				i + 1, count, len);
		if (i < message->answers && (i == 0 || record.ttl < message->ttl_min))
			message->ttl_min = record.ttl;
	}
	if (at != len)
		return err_set(err, "%zu bytes behind the last record", len - at);
	return 0;
}

int
dns_read(const void *data, size_t len, struct dns_message *message, struct err *err)
{
	const unsigned char *bytes = data;
	unsigned flags;

	*message = (struct dns_message){0};
	if (len < HEADER_SIZE)
		return err_set(err, "%zu bytes are no DNS message", len);
	flags = get16(bytes + 2);
	message->id = get16(bytes);
	message->reply = flags & FLAG_QR;
	message->opcode = flags >> 11 & 0xf;
	message->authoritative = flags & FLAG_AA;
	message->truncated = flags & FLAG_TC;
	message->recursion_desired = flags & FLAG_RD;
	message->recursion_available = flags & FLAG_RA;
	message->rcode = flags & 0xf;
	message->answers = get16(bytes + 6);
	if (read_question(bytes, len, &message->question, err) < 0)
		return -1;
	return read_records(bytes, len, message, err);
}

/* ---- writing ---- */

/* Room for `len` bytes, or NULL once the message is full. */
static unsigned char *
extend(struct dns_writer *writer, size_t len)
{
	unsigned char *at = writer->bytes + writer->len;

	if (writer->full || len > sizeof(writer->bytes) - writer->len) {
		writer->full = true;
		return NULL;
	}
	writer->len += len;
	return at;
}

static void
add16(struct dns_writer *writer, unsigned value)
{
	unsigned char *at = extend(writer, 2);

	if (at)
		put16(at, value);
}

static void
add_label(struct dns_writer *writer, const char *label, size_t len)
{
	unsigned char *at;

	if (len == 0 || len > LABEL_MAX) {
		writer->full = true;
		return;
	}
	at = extend(writer, 1 + len);
	if (!at)
		return;
	*at = (unsigned char)len;
	memcpy(at + 1, label, len);
}

/* The header and the question of a message, with nothing announced behind it. */
static unsigned char *
add_question(struct dns_writer *writer, const void *bytes, const struct dns_message *query)
{
	unsigned char *at;

	*writer = (struct dns_writer){0};
	at = extend(writer, query->question.end);
	if (!at)
		return NULL;
	memcpy(at, bytes, query->question.end);
	memset(at + 6, 0, 6);
	return at;
}

void
dns_write_query(struct dns_writer *writer, uint16_t id, const void *bytes,
	const struct dns_message *query)
{
	unsigned char *at = add_question(writer, bytes, query);

	if (!at)
		return;
	put16(at, id);
	put16(at + 2, FLAG_RD);
}

void
dns_write_reply(struct dns_writer *writer, const void *bytes, const struct dns_message *query,
	enum dns_rcode rcode)
{
	unsigned char *at = add_question(writer, bytes, query);
	unsigned flags = FLAG_QR | FLAG_AA | (unsigned)query->opcode << 11 | (unsigned)rcode;

	if (at)
		put16(at + 2, flags | (query->recursion_desired ? FLAG_RD : 0));
}

void
dns_write_truncated(struct dns_writer *writer)
{
	put16(writer->bytes + 2, get16(writer->bytes + 2) | FLAG_TC);
}

/* A record without its data, counted as an answer. */
static void
add_record(
	struct dns_writer *writer, size_t owner, enum dns_type type, uint32_t ttl, size_t data)
{
	unsigned char *at = extend(writer, 12);

	if (!at)
		return;
	put16(at, POINTER << 8 | (unsigned)owner);
	put16(at + 2, type);
	put16(at + 4, DNS_CLASS_IN);
	put32(at + 6, ttl);
	put16(at + 10, (unsigned)data);
	put16(writer->bytes + 6, get16(writer->bytes + 6) + 1U);
}

void
dns_write_address(struct dns_writer *writer, size_t owner, enum dns_type type, uint32_t ttl,
	const void *address)
{
	size_t len = type == DNS_AAAA ? 16 : 4;
	unsigned char *at;

	add_record(writer, owner, type, ttl, len);
	at = extend(writer, len);
	if (at)
		memcpy(at, address, len);
}

size_t
dns_write_cname(
	struct dns_writer *writer, size_t owner, uint32_t ttl, const char *label, size_t parent)
{
	size_t len = strlen(label), name;

	add_record(writer, owner, DNS_CNAME, ttl, len + 3);
	name = writer->len;
	add_label(writer, label, len);
	add16(writer, POINTER << 8 | (unsigned)parent);
	return name;
}

void
dns_reuse(void *data, size_t len, const void *query, uint32_t age)
{
	unsigned char *bytes = data;
	const unsigned char *asked = query;
	unsigned flags = get16(bytes + 2) & ~(unsigned)(FLAG_AA | FLAG_RD);
	int count = record_count(bytes);
	size_t at = HEADER_SIZE;

	put16(bytes, get16(asked));
	put16(bytes + 2, flags | FLAG_RA | (get16(asked + 2) & FLAG_RD));
	if (skip_name(bytes, len, &at) < 0)
		return;
	at += 4;
	memcpy(bytes + HEADER_SIZE, asked + HEADER_SIZE, at - HEADER_SIZE);
	for (int i = 0; i < count; i++) {
		struct record record;

		if (next_record(bytes, len, &at, &record) < 0)
			return;
		put32(bytes + record.ttl_at, record.ttl > age ? record.ttl - age : 0);
	}
}
