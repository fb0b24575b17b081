/* Packets in the emulator's hands: fixed-size slots from a pool that only ever grows. */
#ifndef LINK_PACKET_H
#define LINK_PACKET_H

#include <stddef.h>
#include <stdint.h>

#define PACKET_MAX 1500  /* the link's MTU: one IP packet, no Ethernet header */
#define PACKET_HEADER 14 /* that header, where there is one */

/* What was done to a packet on its way. */
enum packet_mark {
	PACKET_COPY = 1, /* the second of two */
	PACKET_CORRUPTED = 2,
	PACKET_REORDERED = 4, /* sent ahead */
};

struct packet {
	struct packet *next, *prev; /* in whatever list holds it */
	int64_t due_ns;             /* when it leaves the emulator */
	uint32_t len;               /* of the IP packet (or ARP), whatever carries it */
	uint32_t marks;             /* of enum packet_mark */
	uint8_t header[PACKET_HEADER];
	uint8_t data[PACKET_MAX];
};

/* Zero-initialise; release with packet_pool_free(). */
struct packet_pool {
	struct packet *free;
	struct packet **blocks;
	size_t block_count, block_cap;
};

/* A slot with undefined content. Never NULL (see base/alloc.h); memory is taken in blocks, and
 * only while more packets are in flight than ever before. */
struct packet *packet_take(struct packet_pool *pool);

void packet_give_back(struct packet_pool *pool, struct packet *packet);

/* Make room for `count` packets now, pages touched, so that the first ones pay nothing. */
void packet_pool_reserve(struct packet_pool *pool, size_t count);

/* Every packet taken from the pool becomes invalid. */
void packet_pool_free(struct packet_pool *pool);

#endif
