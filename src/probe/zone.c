/* The zone's names and addresses, functions of a number, and as a hosts file. */
#include "probe/responder.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* LETTER and one to nine digits in front of *at, which moves behind them. */
static bool
take_number(const char **at, char letter, uint32_t *number)
{
	const char *digits = *at + 1;
	size_t count = **at == letter ? strspn(digits, "0123456789") : 0;

	if (count < 1 || count > 9)
		return false;
	*number = 0;
	for (size_t i = 0; i < count; i++)
		*number = *number * 10 + (uint32_t)(digits[i] - '0');
	*at = digits + count;
	return true;
}

bool
zone_address(const char *name, enum dns_type type, unsigned char out[static 16])
{
	static const unsigned char four[] = {198, 51, 100}, six[] = {0x20, 0x01, 0x0d, 0xb8};
	uint32_t number, place;

	if (take_number(&name, 'c', &place) && *name++ != '.')
		return false;
	if (!take_number(&name, 'n', &number) || strcmp(name, "." ZONE_NAME) != 0)
		return false;
	memset(out, 0, 16);
	if (type == DNS_A) {
		memcpy(out, four, sizeof(four));
		out[3] = (unsigned char)(number % 254 + 1);
		return true;
	}
	memcpy(out, six, sizeof(six));
	for (int i = 0; i < 4; i++)
		out[15 - i] = (unsigned char)(number >> 8 * i);
	return true;
}

bool
zone_has(const char *name, const struct addr *addr)
{
	unsigned char right[16];

	if (addr_family(addr) == AF_INET6)
		return zone_address(name, DNS_AAAA, right) &&
		       !memcmp(&addr->sock.v6.sin6_addr, right, 16);
	return zone_address(name, DNS_A, right) && !memcmp(&addr->sock.v4.sin_addr, right, 4);
}

int
zone_hosts(const char *name, char path[static ZONE_PATH_SIZE], struct err *err)
{
	unsigned char four[16], six[16];
	char four_text[INET_ADDRSTRLEN], six_text[INET6_ADDRSTRLEN];
	int fd;

	if (!zone_address(name, DNS_A, four) || !zone_address(name, DNS_AAAA, six))
		return err_set(
			err, "%s: not a name of our zone, so no hosts file has it", name);
	inet_ntop(AF_INET, four, four_text, sizeof(four_text));
	inet_ntop(AF_INET6, six, six_text, sizeof(six_text));
	fd = memfd_create("hosts", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "create a hosts file");
	if (dprintf(fd, "%s %s\n%s %s\n", four_text, name, six_text, name) < 0) {
		err_sys(err, "write a hosts file");
		close(fd);
		return -1;
	}
	snprintf(path, ZONE_PATH_SIZE, "/proc/self/fd/%d", fd);
	return fd;
}
