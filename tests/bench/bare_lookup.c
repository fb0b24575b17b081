/* The least a lookup can take: one UDP socket, send(), recv(), nothing of the reply looked at
 * but its identifier. usage: bare_lookup ADDR COUNT; prints nanoseconds, one lookup a line */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/addr.h"

static size_t
make_query(unsigned char *bytes, unsigned serial)
{
	static const unsigned char head[] = "\x00\x00\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00",
				   tail[] = "\x09rttmatrix\x04test\x00\x00\x01\x00\x01";
	size_t len = 12;

	memcpy(bytes, head, len);
	bytes[0] = (unsigned char)(serial >> 8);
	bytes[1] = (unsigned char)serial;
	bytes[len] = (unsigned char)sprintf((char *)bytes + len + 1, "n8%u", serial);
	len += 1U + bytes[len];
	memcpy(bytes + len, tail, sizeof(tail) - 1);
	return len + sizeof(tail) - 1;
}

int
main(int argc, char **argv)
{
	struct addr addr;
	struct err err = {"usage: bare_lookup ADDR COUNT"};
	unsigned count = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	int64_t *took = alloc_zero(count + 1, sizeof(*took));
	int fd = -1;

	if (!count || addr_parse(argv[1], &addr, &err) < 0 ||
		(fd = socket(addr_family(&addr), SOCK_DGRAM, 0)) < 0 ||
		connect(fd, &addr.sock.any, addr.len) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (unsigned i = 0; i < count; i++) {
		unsigned char query[512], reply[512];
		int64_t start = clock_now();
		size_t len = make_query(query, i);

		if (send(fd, query, len, 0) < 0 || recv(fd, reply, sizeof(reply), 0) < 12 ||
			memcmp(query, reply, 2) != 0) {
			perror("bare_lookup");
			return 1;
		}
		took[i] = clock_now() - start;
	}
	for (unsigned i = 0; i < count; i++)
		printf("%lld\n", (long long)took[i]);
	free(took);
	return 0;
}
