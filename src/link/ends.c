/* Addresses of the two ends, and putting them on interfaces. */
#include "link/ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include "link/rtnl.h"

const struct end_address end_addresses[ENDS] = {
	[NEAR] = {"near", "198.18.0.1", "fd52:7474:6d61::1", {0x52, 0x74, 0x74, 0x6d, 0, 1}},
	[FAR] = {"far", "198.18.0.2", "fd52:7474:6d61::2", {0x52, 0x74, 0x74, 0x6d, 0, 2}},
};

/* A kernel without IPv6, or one where it is switched off for this namespace. */
static bool
no_ipv6(void)
{
	return errno == EAFNOSUPPORT || errno == EOPNOTSUPP || errno == EACCES;
}

static int
configure(int rtnl, const struct end_address *address, unsigned txqueuelen, struct err *err)
{
	if (rtnl_up(rtnl, "lo", 0, err) < 0 ||
		rtnl_up(rtnl, LINK_DEVICE, txqueuelen, err) < 0 ||
		rtnl_add_address(rtnl, AF_INET, address->ipv4, LINK_PREFIX4, err) < 0)
		return -1;
	if (rtnl_add_address(rtnl, AF_INET6, address->ipv6, LINK_PREFIX6, err) < 0 &&
		!no_ipv6())
		return -1;
	return 0;
}

int
end_configure(enum end end, unsigned txqueuelen, struct err *err)
{
	int rtnl = rtnl_open(err), status;

	if (rtnl < 0)
		return -1;
	status = configure(rtnl, &end_addresses[end], txqueuelen, err);
	close(rtnl);
	return status;
}

socklen_t
end_sockaddr(enum end end, int family, int port, struct sockaddr_storage *address)
{
	struct sockaddr_in *ipv4 = (void *)address;
	struct sockaddr_in6 *ipv6 = (void *)address;

	*address = (struct sockaddr_storage){.ss_family = (sa_family_t)family};
	if (family == AF_INET) {
		ipv4->sin_port = htons((uint16_t)port);
		inet_pton(AF_INET, end_addresses[end].ipv4, &ipv4->sin_addr);
		return sizeof(*ipv4);
	}
	ipv6->sin6_port = htons((uint16_t)port);
	inet_pton(AF_INET6, end_addresses[end].ipv6, &ipv6->sin6_addr);
	return sizeof(*ipv6);
}

bool
end_has_ipv6(enum end end)
{
	struct sockaddr_storage address;
	socklen_t len = end_sockaddr(end, AF_INET6, 0, &address);
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && bind(fd, (void *)&address, len) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}
