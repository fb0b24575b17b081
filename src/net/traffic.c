/* Counters of interfaces and of UDP from /proc/net, which shows the namespace of whoever reads
 * it. (/sys/class/net shows the one it was mounted in.) */
#include "net/traffic.h"

#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

#define PROC_MAX ((size_t)1 << 20)
#define ETHERNET_HEADER 14

static bool
same_host(const struct sockaddr *has, const struct addr *wanted)
{
	if (!has || has->sa_family != addr_family(wanted))
		return false;
	if (has->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)has)->sin_addr.s_addr ==
		       wanted->sock.v4.sin_addr.s_addr;
	return !memcmp(&((const struct sockaddr_in6 *)(const void *)has)->sin6_addr,
		&wanted->sock.v6.sin6_addr, sizeof(struct in6_addr));
}

/* The interface with that address. NULL if there is none. */
static const struct ifaddrs *
owner(const struct ifaddrs *list, const struct addr *addr)
{
	for (; list; list = list->ifa_next)
		if (same_host(list->ifa_addr, addr))
			return list;
	return NULL;
}

/* What is sent to an address of ours goes over the loopback, whichever interface has it. */
static const struct ifaddrs *
carrier(const struct ifaddrs *list, const struct addr *local, const struct addr *peer)
{
	if (!owner(list, peer))
		return owner(list, local);
	for (; list; list = list->ifa_next)
		if (list->ifa_flags & IFF_LOOPBACK)
			return list;
	return NULL;
}

static bool
is_ethernet(const struct ifaddrs *list, const char *name)
{
	for (; list; list = list->ifa_next)
		if (list->ifa_addr && list->ifa_addr->sa_family == AF_PACKET &&
			!strcmp(list->ifa_name, name))
			return ((const struct sockaddr_ll *)(const void *)list->ifa_addr)
				       ->sll_hatype == ARPHRD_ETHER;
	return false;
}

int
traffic_find(const struct addr *local, const struct addr *peer, struct traffic_device *device,
	struct err *err)
{
	char text[ADDR_TEXT_SIZE];
	const struct ifaddrs *found;
	struct ifaddrs *list;

	if (getifaddrs(&list) < 0)
		return err_sys(err, "list the interfaces");
	found = carrier(list, local, peer);
	if (found) {
		*device = (struct traffic_device){
			.loopback = found->ifa_flags & IFF_LOOPBACK,
			.ethernet = is_ethernet(list, found->ifa_name),
		};
		snprintf(device->name, sizeof(device->name), "%s", found->ifa_name);
	}
	freeifaddrs(list);
	if (found)
		return 0;
	addr_format(local, text);
	return err_set(err, "no interface has the address of %s", text);
}

/* Behind the name and a colon: bytes, packets and six others as received, then as sent. */
int
traffic_parse(const char *text, const struct traffic_device *device, struct traffic *traffic,
	struct err *err)
{
	size_t len = strlen(device->name);
	int64_t rx_bytes, rx_packets, tx_bytes, tx_packets;

	while (text && *text) {
		const char *line = text + strspn(text, " ");

		text = strchr(line, '\n');
		text = text ? text + 1 : NULL;
		if (strncmp(line, device->name, len) || line[len] != ':' ||
			sscanf(line + len + 1,
				"%" SCNd64 "%" SCNd64 "%*s%*s%*s%*s%*s%*s%" SCNd64 "%" SCNd64,
				&rx_bytes, &rx_packets, &tx_bytes, &tx_packets) != 4)
			continue;
		traffic->packets = tx_packets + (device->loopback ? 0 : rx_packets);
		traffic->bytes = tx_bytes + (device->loopback ? 0 : rx_bytes);
		if (device->ethernet)
			traffic->bytes -= ETHERNET_HEADER * traffic->packets;
		return 0;
	}
	return err_set(err, "/proc/net/dev has no counters of %s", device->name);
}

int
traffic_read(const struct traffic_device *device, struct traffic *traffic, struct err *err)
{
	struct buf text = {0};
	int status = file_read("/proc/net/dev", PROC_MAX, &text, err);

	if (status == 0)
		status = traffic_parse(buf_text(&text), device, traffic, err);
	buf_free(&text);
	return status;
}

/* Word number `index` (from 0) of a line. NULL when it has fewer. */
static const char *
word_at(const char *line, int index)
{
	for (;;) {
		line += strspn(line, " ");
		if (!*line || *line == '\n')
			return NULL;
		if (index-- == 0)
			return line;
		line += strcspn(line, " \n");
	}
}

/* Of IPv4: a line of names that begins with "Udp:", then one of values that does too. */
static int
find_paired(const char *text, const char *name, int64_t *value)
{
	const char *names = strstr(text, "\nUdp: ");
	const char *values = names ? strstr(names + 1, "\nUdp: ") : NULL;
	const char *word;
	size_t len = strlen(name);

	if (!values)
		return -1;
	for (int i = 1; (word = word_at(names + 1, i)); i++) {
		if (strncmp(word, name, len) || !strchr(" \n", word[len]))
			continue;
		word = word_at(values + 1, i);
		return word && sscanf(word, "%" SCNd64, value) == 1 ? 0 : -1;
	}
	return -1;
}

/* Of IPv6: "Udp6" and the name, then the value, on a line each. */
static int
find_listed(const char *text, const char *name, int64_t *value)
{
	char start[64];
	const char *at;

	snprintf(start, sizeof(start), "\nUdp6%s ", name);
	at = strstr(text, start);
	return at && sscanf(at + strlen(start), "%" SCNd64, value) == 1 ? 0 : -1;
}

int
traffic_parse_udp_overflows(int family, const char *text, int64_t *overflows, struct err *err)
{
	int (*find)(const char *, const char *, int64_t *) = family == AF_INET6 ? find_listed
										: find_paired;
	int64_t memory = 0;

	if (find(text, "RcvbufErrors", overflows) < 0)
		return err_set(err, "the kernel shows no UDP overflows of this namespace");
	find(text, "MemErrors", &memory); /* since Linux 5.12 */
	*overflows += memory;
	return 0;
}

int
traffic_udp_overflows(int family, int64_t *overflows, struct err *err)
{
	const char *path = family == AF_INET6 ? "/proc/net/snmp6" : "/proc/net/snmp";
	struct buf text = {0};
	int status = file_read(path, PROC_MAX, &text, err);

	if (status == 0)
		status = traffic_parse_udp_overflows(family, buf_text(&text), overflows, err);
	buf_free(&text);
	return status;
}
