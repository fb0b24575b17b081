/* Addresses of the two ends, and putting them on interfaces. */
#include "link/ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "link/rtnl.h"
#include "link/space.h"

#define BASE_IPV4 0xc6120000u /* 198.18.0.0 */
#define NUMBERS (1u << 15)    /* of four addresses each: a /15 */
#define DEVICES_MAX 4096

const struct end_address end_addresses[ENDS] = {
	[NEAR] = {"near", "link0", "198.18.0.1", "fd52:7474:6d61::1",
		{0x52, 0x74, 0x74, 0x6d, 0, 1}},
	[FAR] = {"far", "link0", "198.18.0.2", "fd52:7474:6d61::2",
		{0x52, 0x74, 0x74, 0x6d, 0, 2}},
};

void
ends_number(unsigned number, struct end_address ends[static ENDS])
{
	memcpy(ends, end_addresses, sizeof(end_addresses));
	if (!number)
		return;
	for (enum end end = NEAR; end < ENDS; end++) {
		struct in_addr ipv4 = {htonl(BASE_IPV4 + 4 * number + end + 1)};
		struct end_address *address = &ends[end];

		inet_ntop(AF_INET, &ipv4, address->ipv4, sizeof(address->ipv4));
		snprintf(address->ipv6, sizeof(address->ipv6), "fd52:7474:6d61:%x::%d", number,
			end + 1);
		address->mac[3] = (unsigned char)(number >> 8);
		address->mac[4] = (unsigned char)number;
	}
	snprintf(ends[FAR].device, IFNAMSIZ, "link%u", number);
}

int
ends_next_number(const struct space *space, unsigned *number, struct err *err)
{
	struct ifreq *devices = alloc_zero(DEVICES_MAX, sizeof(*devices));
	struct ifconf list = {.ifc_len = DEVICES_MAX * sizeof(*devices), .ifc_req = devices};
	int fd = space_socket(space, AF_INET, SOCK_DGRAM, 0, err), status = -1;

	*number = 0;
	if (fd >= 0 && ioctl(fd, SIOCGIFCONF, &list) < 0)
		err_sys(err, "list the addresses in use");
	else if (fd >= 0)
		status = 0;
	for (size_t i = 0; !status && i < (size_t)list.ifc_len / sizeof(*devices); i++) {
		const struct sockaddr_in *address = (void *)&devices[i].ifr_addr;
		unsigned in_use = (ntohl(address->sin_addr.s_addr) - BASE_IPV4) / 4;

		if (in_use < NUMBERS && in_use >= *number)
			*number = in_use + 1;
	}
	if (!status && *number >= NUMBERS)
		status = err_set(err, "198.18.0.0/15 has no addresses left for another link");
	if (fd >= 0)
		close(fd);
	free(devices);
	return status;
}

/* A kernel without IPv6, or one where it is switched off for this namespace. */
static bool
no_ipv6(void)
{
	return errno == EAFNOSUPPORT || errno == EOPNOTSUPP || errno == EACCES;
}

int
end_configure(int rtnl, const struct end_address *end, unsigned txqueuelen, struct err *err)
{
	if (rtnl_up(rtnl, "lo", 0, err) < 0 ||
		rtnl_up(rtnl, end->device, txqueuelen, err) < 0 ||
		rtnl_add_address(rtnl, end->device, AF_INET, end->ipv4, LINK_PREFIX4, err) < 0)
		return -1;
	if (rtnl_add_address(rtnl, end->device, AF_INET6, end->ipv6, LINK_PREFIX6, err) < 0 &&
		!no_ipv6())
		return -1;
	return 0;
}

int
end_forget_peer(int rtnl, const struct end_address *end, const struct end_address *peer,
	struct err *err)
{
	return rtnl_delete_neighbour(rtnl, end->device, AF_INET, peer->ipv4, err);
}

socklen_t
end_sockaddr(
	const struct end_address *end, int family, int port, struct sockaddr_storage *address)
{
	struct sockaddr_in *ipv4 = (void *)address;
	struct sockaddr_in6 *ipv6 = (void *)address;

	*address = (struct sockaddr_storage){.ss_family = (sa_family_t)family};
	if (family == AF_INET) {
		ipv4->sin_port = htons((uint16_t)port);
		inet_pton(AF_INET, end->ipv4, &ipv4->sin_addr);
		return sizeof(*ipv4);
	}
	ipv6->sin6_port = htons((uint16_t)port);
	inet_pton(AF_INET6, end->ipv6, &ipv6->sin6_addr);
	return sizeof(*ipv6);
}

bool
end_has_ipv6(const struct space *space, const struct end_address *end)
{
	struct sockaddr_storage address;
	socklen_t len = end_sockaddr(end, AF_INET6, 0, &address);
	int fd = space_socket(space, AF_INET6, SOCK_DGRAM, 0, NULL);
	bool has = fd >= 0 && bind(fd, (void *)&address, len) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}
