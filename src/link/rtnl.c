/* rtnetlink requests, built in place and answered one at a time (rtnetlink(7)). */
#include "link/rtnl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link/space.h"

struct request {
	struct nlmsghdr header;
	char body[1024];
};

/* Room for `len` bytes at the end of the message. Ours never exceed the body. */
static void *
append(struct request *request, size_t len)
{
	char *at = (char *)request + NLMSG_ALIGN(request->header.nlmsg_len);

	request->header.nlmsg_len = (uint32_t)((size_t)(at - (char *)request) + len);
	return at;
}

static void *
begin(struct request *request, int type, int flags, size_t len)
{
	memset(request, 0, sizeof(*request));
	request->header.nlmsg_len = NLMSG_HDRLEN;
	request->header.nlmsg_type = (uint16_t)type;
	request->header.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	return append(request, len);
}

static struct rtattr *
add(struct request *request, int type, const void *data, size_t len)
{
	struct rtattr *attr = append(request, RTA_LENGTH(len));

	attr->rta_type = (uint16_t)type;
	attr->rta_len = (uint16_t)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(attr), data, len);
	return attr;
}

static void
add_text(struct request *request, int type, const char *text)
{
	add(request, type, text, strlen(text) + 1);
}

/* A request that is about `device`. */
static struct ifinfomsg *
begin_link(struct request *request, int type, const char *device)
{
	struct ifinfomsg *info = begin(request, type, 0, sizeof(*info));

	add_text(request, IFLA_IFNAME, device);
	return info;
}

/* Close a nest opened with add(…, NULL, 0). */
static void
end_nest(struct request *request, struct rtattr *nest)
{
	const char *end = (char *)request + request->header.nlmsg_len;

	nest->rta_len = (uint16_t)(end - (char *)nest);
}

int
rtnl_open(const struct space *space, struct err *err)
{
	return space_socket(space, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, err);
}

/* Send, and wait for the answer: an RTM_NEWLINK is copied to `link` if asked for, the rest is
 * the acknowledgement. Returns 0, or -1 with errno. The kernel answers before send() returns.
 */
static int
exchange(int rtnl, struct request *request, void *link, size_t link_size)
{
	_Alignas(struct nlmsghdr) char answer[16384];
	const struct nlmsghdr *header = (void *)answer;

	if (send(rtnl, request, request->header.nlmsg_len, 0) < 0)
		return -1;
	for (;;) {
		ssize_t len = recv(rtnl, answer, sizeof(answer), 0);
		const struct nlmsgerr *result = NLMSG_DATA(header);

		if (len < 0)
			return -1;
		if (!NLMSG_OK(header, (size_t)len)) {
			errno = EPROTO;
			return -1;
		}
		if (header->nlmsg_type == NLMSG_ERROR) {
			errno = -result->error;
			return result->error ? -1 : 0;
		}
		if (link)
			memcpy(link, answer, (size_t)len < link_size ? (size_t)len : link_size);
	}
}

static int
find_device(int rtnl, const char *device, int *index, struct err *err)
{
	_Alignas(struct nlmsghdr) char answer[256];
	const struct ifinfomsg *info = NLMSG_DATA((void *)answer);
	struct request request;

	begin_link(&request, RTM_GETLINK, device);
	if (exchange(rtnl, &request, answer, sizeof(answer)) < 0)
		return err_sys(err, "find %s", device);
	*index = info->ifi_index;
	return 0;
}

int
rtnl_add_veth(int rtnl, int far_ns, const struct end_address ends[static ENDS], struct err *err)
{
	struct request request;
	struct rtattr *info, *data, *peer;

	begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(struct ifinfomsg));
	add_text(&request, IFLA_IFNAME, ends[NEAR].device);
	add(&request, IFLA_ADDRESS, ends[NEAR].mac, 6);
	info = add(&request, IFLA_LINKINFO, NULL, 0);
	add_text(&request, IFLA_INFO_KIND, "veth");
	data = add(&request, IFLA_INFO_DATA, NULL, 0);
	peer = add(&request, VETH_INFO_PEER, NULL, 0);
	memset(append(&request, sizeof(struct ifinfomsg)), 0, sizeof(struct ifinfomsg));
	add_text(&request, IFLA_IFNAME, ends[FAR].device);
	add(&request, IFLA_ADDRESS, ends[FAR].mac, 6);
	add(&request, IFLA_NET_NS_FD, &far_ns, sizeof(far_ns));
	end_nest(&request, peer);
	end_nest(&request, data);
	end_nest(&request, info);
	if (exchange(rtnl, &request, NULL, 0) < 0)
		return err_sys(err, "make a veth pair");
	return 0;
}

int
rtnl_up(int rtnl, const char *device, unsigned queue, struct err *err)
{
	uint32_t mtu = LINK_MTU, len = queue;
	struct request request;
	struct ifinfomsg *info = begin_link(&request, RTM_NEWLINK, device);

	info->ifi_flags = IFF_UP;
	info->ifi_change = IFF_UP;
	if (queue) {
		add(&request, IFLA_MTU, &mtu, sizeof(mtu));
		add(&request, IFLA_TXQLEN, &len, sizeof(len));
	}
	if (exchange(rtnl, &request, NULL, 0) < 0)
		return err_sys(err, "bring %s up", device);
	return 0;
}

int
rtnl_one_segment(int rtnl, const char *device, struct err *err)
{
	struct request request;
	uint32_t one = 1;

	/* TCP builds segments of up to 64 KiB even for a device without GSO since Linux 4.17;
	 * they would be split below the qdisc. */
	begin_link(&request, RTM_NEWLINK, device);
	add(&request, IFLA_GSO_MAX_SEGS, &one, sizeof(one));
	if (exchange(rtnl, &request, NULL, 0) < 0)
		return err_sys(err, "limit %s to one segment a packet", device);
	return 0;
}

void
rtnl_delete(int rtnl, const char *device)
{
	struct request request;

	begin_link(&request, RTM_DELLINK, device);
	exchange(rtnl, &request, NULL, 0);
}

/* `address` in network order and its length. */
static size_t
address_bytes(int family, const char *address, unsigned char bytes[static 16])
{
	inet_pton(family, address, bytes);
	return family == AF_INET ? 4 : 16;
}

int
rtnl_add_address(int rtnl, const char *device, int family, const char *address, unsigned prefix,
	struct err *err)
{
	struct request request;
	struct ifaddrmsg *message = begin(
		&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*message));
	unsigned char bytes[16];
	size_t len = address_bytes(family, address, bytes);
	int index;

	if (find_device(rtnl, device, &index, err) < 0)
		return -1;
	message->ifa_family = (uint8_t)family;
	message->ifa_prefixlen = (uint8_t)prefix;
	message->ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0;
	message->ifa_index = (uint32_t)index;
	add(&request, IFA_LOCAL, bytes, len);
	add(&request, IFA_ADDRESS, bytes, len);
	if (exchange(rtnl, &request, NULL, 0) < 0)
		return err_sys(err, "give %s the address %s", device, address);
	return 0;
}

int
rtnl_add_neighbour(int rtnl, const char *device, int family, const char *address,
	const unsigned char mac[static 6], struct err *err)
{
	struct request request;
	struct ndmsg *message = begin(
		&request, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*message));
	unsigned char bytes[16];
	size_t len = address_bytes(family, address, bytes);
	int index;

	if (find_device(rtnl, device, &index, err) < 0)
		return -1;
	message->ndm_family = (uint8_t)family;
	message->ndm_ifindex = index;
	message->ndm_state = NUD_PERMANENT;
	add(&request, NDA_DST, bytes, len);
	add(&request, NDA_LLADDR, mac, 6);
	if (exchange(rtnl, &request, NULL, 0) < 0)
		return err_sys(err, "set the neighbour %s", address);
	return 0;
}

int
rtnl_delete_neighbour(
	int rtnl, const char *device, int family, const char *address, struct err *err)
{
	struct request request;
	struct ndmsg *message = begin(&request, RTM_DELNEIGH, 0, sizeof(*message));
	unsigned char bytes[16];
	size_t len = address_bytes(family, address, bytes);
	int index;

	if (find_device(rtnl, device, &index, err) < 0)
		return -1;
	message->ndm_family = (uint8_t)family;
	message->ndm_ifindex = index;
	add(&request, NDA_DST, bytes, len);
	if (exchange(rtnl, &request, NULL, 0) < 0 && errno != ENOENT)
		return err_sys(err, "forget the neighbour %s", address);
	return 0;
}

int
rtnl_add_default_route(int rtnl, const char *device, const char *gateway, struct err *err)
{
	struct request request;
	struct rtmsg *message = begin(
		&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*message));
	unsigned char bytes[16];
	size_t len = address_bytes(AF_INET, gateway, bytes);
	int index;

	if (find_device(rtnl, device, &index, err) < 0)
		return -1;
	message->rtm_family = AF_INET;
	message->rtm_table = RT_TABLE_MAIN;
	message->rtm_protocol = RTPROT_STATIC;
	message->rtm_type = RTN_UNICAST;
	add(&request, RTA_GATEWAY, bytes, len);
	add(&request, RTA_OIF, &index, sizeof(index));
	if (exchange(rtnl, &request, NULL, 0) < 0)
		return err_sys(err, "route everything by %s", device);
	return 0;
}

int
rtnl_forward(int rtnl, const char *device, struct err *err)
{
	struct request request;
	struct rtattr *families, *family, *settings;
	uint32_t one = 1;

	/* Not through /proc/sys, which many containers cannot write. */
	begin_link(&request, RTM_NEWLINK, device);
	families = add(&request, IFLA_AF_SPEC, NULL, 0);
	family = add(&request, AF_INET, NULL, 0);
	settings = add(&request, IFLA_INET_CONF, NULL, 0);
	add(&request, IPV4_DEVCONF_FORWARDING, &one, sizeof(one));
	end_nest(&request, settings);
	end_nest(&request, family);
	end_nest(&request, families);
	if (exchange(rtnl, &request, NULL, 0) < 0)
		return err_sys(err, "forward what comes in by %s", device);
	return 0;
}

/* The device's counters out of an RTM_NEWLINK; a newer kernel may send more than we know. */
static void
copy_stats(const struct nlmsghdr *header, struct rtnl_link_stats64 *stats)
{
	const struct rtattr *attr = IFLA_RTA(NLMSG_DATA(header));
	size_t left = IFLA_PAYLOAD(header);

	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		size_t len = RTA_PAYLOAD(attr);

		if (attr->rta_type == IFLA_STATS64)
			memcpy(stats, RTA_DATA(attr),
				len < sizeof(*stats) ? len : sizeof(*stats));
	}
}

int
rtnl_read_counters(
	int rtnl, const char *device, struct rtnl_counters *counters, struct err *err)
{
	_Alignas(struct nlmsghdr) char answer[16384];
	const struct nlmsghdr *header = (void *)answer;
	struct rtnl_link_stats64 stats = {0};
	struct request request;

	begin_link(&request, RTM_GETLINK, device);
	if (exchange(rtnl, &request, answer, sizeof(answer)) < 0)
		return err_sys(err, "read the counters of %s", device);
	copy_stats(header, &stats);
	*counters = (struct rtnl_counters){
		.tx_packets = (int64_t)stats.tx_packets,
		.tx_dropped = (int64_t)stats.tx_dropped,
		.rx_packets = (int64_t)stats.rx_packets,
		.rx_dropped = (int64_t)stats.rx_dropped,
	};
	return 0;
}
