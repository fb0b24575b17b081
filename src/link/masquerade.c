/* One nf_tables table with one rule, spoken to the kernel directly
 * (linux/netfilter/nf_tables.h):
 *
 *   table ip rttlink-ADDRESS {
 *           flags owner
 *           chain out {
 *                   type nat hook postrouting priority srcnat
 *                   ip saddr ADDRESS masquerade
 *           }
 *   }
 *
 * A table with an owner is the socket's that made it and goes with that socket, even when its
 * process is killed; the command nft could only give us one that stays. */
#include "link/masquerade.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "link/backend.h"

#define CHAIN "out"
#define SRCNAT 100     /* the priority that nft calls so */
#define SOURCE_AT 12   /* of the IPv4 source address in its header */
#define TABLE_OWNER 2u /* NFT_TABLE_F_OWNER, for headers older than Linux 5.12 */

struct batch {
	char data[2048];
	size_t len;
	size_t message; /* where the present one begins */
	uint32_t requests;
};

/* Ours never exceed it. */
static void *
append(struct batch *batch, const void *data, size_t len)
{
	char *at = batch->data + batch->len;

	if (len)
		memcpy(at, data, len);
	batch->len += NLMSG_ALIGN(len);
	return at;
}

static void
begin(struct batch *batch, int type, int flags)
{
	/* The bounds of a batch carry the subsystem's number, what is between them the family.
	 */
	bool bound = type == NFNL_MSG_BATCH_BEGIN || type == NFNL_MSG_BATCH_END;
	struct nlmsghdr header = {
		.nlmsg_type = (uint16_t)(bound ? type : NFNL_SUBSYS_NFTABLES << 8 | type),
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = batch->requests,
	};
	struct nfgenmsg family = {
		.nfgen_family = bound ? AF_UNSPEC : NFPROTO_IPV4,
		.version = NFNETLINK_V0,
		.res_id = bound ? htons(NFNL_SUBSYS_NFTABLES) : 0,
	};

	batch->message = batch->len;
	append(batch, &header, sizeof(header));
	append(batch, &family, sizeof(family));
	batch->requests += !bound;
}

static void
end(struct batch *batch)
{
	struct nlmsghdr *header = (void *)(batch->data + batch->message);

	header->nlmsg_len = (uint32_t)(batch->len - batch->message);
}

static void
add(struct batch *batch, int type, const void *data, size_t len)
{
	struct nlattr attr = {(uint16_t)(sizeof(attr) + len), (uint16_t)type};

	append(batch, &attr, sizeof(attr));
	append(batch, data, len);
}

static void
add_text(struct batch *batch, int type, const char *text)
{
	add(batch, type, text, strlen(text) + 1);
}

static void
add_u32(struct batch *batch, int type, uint32_t value)
{
	value = htonl(value);
	add(batch, type, &value, sizeof(value));
}

/* Opens a nest: everything until close_nest() is inside. */
static size_t
open_nest(struct batch *batch, int type)
{
	size_t at = batch->len;

	add(batch, NLA_F_NESTED | type, NULL, 0);
	return at;
}

static void
close_nest(struct batch *batch, size_t at)
{
	struct nlattr *attr = (void *)(batch->data + at);

	attr->nla_len = (uint16_t)(batch->len - at);
}

static void
add_table(struct batch *batch, const char *table)
{
	begin(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
	add_text(batch, NFTA_TABLE_NAME, table);
	add_u32(batch, NFTA_TABLE_FLAGS, TABLE_OWNER);
	end(batch);
}

static void
add_chain(struct batch *batch, const char *table)
{
	size_t hook;

	begin(batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_ACK);
	add_text(batch, NFTA_CHAIN_TABLE, table);
	add_text(batch, NFTA_CHAIN_NAME, CHAIN);
	add_text(batch, NFTA_CHAIN_TYPE, "nat");
	hook = open_nest(batch, NFTA_CHAIN_HOOK);
	add_u32(batch, NFTA_HOOK_HOOKNUM, NF_INET_POST_ROUTING);
	add_u32(batch, NFTA_HOOK_PRIORITY, SRCNAT);
	close_nest(batch, hook);
	end(batch);
}

/* payload load: the source address into register 1 */
static void
add_load(struct batch *batch)
{
	size_t element = open_nest(batch, NFTA_LIST_ELEM), data;

	add_text(batch, NFTA_EXPR_NAME, "payload");
	data = open_nest(batch, NFTA_EXPR_DATA);
	add_u32(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
	add_u32(batch, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
	add_u32(batch, NFTA_PAYLOAD_OFFSET, SOURCE_AT);
	add_u32(batch, NFTA_PAYLOAD_LEN, sizeof(struct in_addr));
	close_nest(batch, data);
	close_nest(batch, element);
}

/* cmp: go on when register 1 is `source` */
static void
add_compare(struct batch *batch, const struct in_addr *source)
{
	size_t element = open_nest(batch, NFTA_LIST_ELEM), data, value;

	add_text(batch, NFTA_EXPR_NAME, "cmp");
	data = open_nest(batch, NFTA_EXPR_DATA);
	add_u32(batch, NFTA_CMP_SREG, NFT_REG_1);
	add_u32(batch, NFTA_CMP_OP, NFT_CMP_EQ);
	value = open_nest(batch, NFTA_CMP_DATA);
	add(batch, NFTA_DATA_VALUE, source, sizeof(*source));
	close_nest(batch, value);
	close_nest(batch, data);
	close_nest(batch, element);
}

static void
add_rule(struct batch *batch, const char *table, const struct in_addr *source)
{
	size_t expressions, element;

	begin(batch, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK);
	add_text(batch, NFTA_RULE_TABLE, table);
	add_text(batch, NFTA_RULE_CHAIN, CHAIN);
	expressions = open_nest(batch, NFTA_RULE_EXPRESSIONS);
	add_load(batch);
	add_compare(batch, source);
	element = open_nest(batch, NFTA_LIST_ELEM);
	add_text(batch, NFTA_EXPR_NAME, "masq");
	close_nest(batch, element);
	close_nest(batch, expressions);
	end(batch);
}

/* Send, and wait until every request was acknowledged. -1 with errno. */
static int
commit(int netfilter, const struct batch *batch)
{
	_Alignas(struct nlmsghdr) char answer[8192];
	uint32_t done = 0;

	if (send(netfilter, batch->data, batch->len, 0) < 0)
		return -1;
	while (done < batch->requests) {
		const struct nlmsghdr *header = (void *)answer;
		ssize_t got = recv(netfilter, answer, sizeof(answer), 0);
		size_t left = (size_t)got;

		if (got < 0)
			return -1;
		for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
			const struct nlmsgerr *result = NLMSG_DATA(header);

			if (header->nlmsg_type != NLMSG_ERROR)
				continue;
			errno = -result->error;
			if (result->error)
				return -1;
			done++;
		}
	}
	return 0;
}

static int
unsupported(struct err *err)
{
	err_sys(err,
		"masquerade what comes out of the link (a kernel with nf_tables and NAT, 5.12 "
		"or newer, can: 'sudo modprobe -a nf_tables nft_chain_nat nft_masq'; "
		"--local does without)");
	return LINK_UNSUPPORTED;
}

int
masquerade_open(const struct space *space, const struct end_address *near, struct err *err)
{
	struct batch *batch = alloc_zero(1, sizeof(*batch));
	int fd = space_socket(space, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER, NULL), status;
	struct in_addr source;
	char table[32];

	snprintf(table, sizeof(table), "rttlink-%s", near->ipv4);
	inet_pton(AF_INET, near->ipv4, &source);
	begin(batch, NFNL_MSG_BATCH_BEGIN, 0);
	end(batch);
	add_table(batch, table);
	add_chain(batch, table);
	add_rule(batch, table, &source);
	begin(batch, NFNL_MSG_BATCH_END, 0);
	end(batch);
	status = fd < 0 ? -1 : commit(fd, batch);
	free(batch);
	if (status == 0)
		return fd;
	status = unsupported(err);
	if (fd >= 0)
		close(fd);
	return status;
}
