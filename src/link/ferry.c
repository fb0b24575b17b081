/* The emulator's loop.
 *
 *     namespace of the client          this process             namespace of the server
 *
 *       link0 (TUN, near) --read--> chain UP   --write--> link0 (TUN, far)
 *       link0 (TUN, near) <--write-- chain DOWN <--read--  link0 (TUN, far)
 *
 * A packet gets its due time when it is read and waits in its chain's list until then. One
 * thread serves both directions: every turn releases what is due and takes in what has come,
 * and only a turn that found nothing to do goes to sleep: see pace.c. */
#include "link/ferry.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "link/timeline.h"

/* How many packets one direction may move before the other gets its turn. */
#define BATCH 32

/* How often a loop that never sleeps looks whether it should stop. */
#define STOP_CHECK_NS (5 * NS_PER_MS)

/* Packets to have memory for from the start: more only costs page faults later. */
#define RESERVE_PACKETS 512

struct way {
	int from, to;
	struct impairment path; /* before any change */
	struct chain *chain;
	int64_t refused;
	int64_t chatter;
};

struct ferry {
	struct way ways[DIRECTIONS];
	size_t header; /* bytes ahead of each packet */
	struct packet_pool pool;
	struct timeline timeline;
	struct lateness lateness;
	struct pace pace;
};

struct ferry *
ferry_new(const int tun[static ENDS])
{
	static const struct impairment nothing[DIRECTIONS];
	struct ferry *ferry = alloc_zero(1, sizeof(*ferry));

	ferry->ways[UP] = (struct way){.from = tun[NEAR], .to = tun[FAR]};
	ferry->ways[DOWN] = (struct way){.from = tun[FAR], .to = tun[NEAR]};
	packet_pool_reserve(&ferry->pool, RESERVE_PACKETS);
	ferry_shape(ferry, nothing, 0);
	return ferry;
}

void
ferry_carry_frames(struct ferry *ferry)
{
	ferry->header = PACKET_HEADER;
}

void
ferry_shape(struct ferry *ferry, const struct impairment path[static DIRECTIONS], uint64_t seed)
{
	for (enum direction i = UP; i < DIRECTIONS; i++) {
		struct way *way = &ferry->ways[i];

		chain_free(way->chain);
		way->path = path[i];
		way->chain = chain_new(&ferry->pool, seed, i);
		way->refused = 0;
		way->chatter = 0;
	}
	ferry->lateness = (struct lateness){0};
	ferry->pace = (struct pace){0};
	ferry_plan(ferry, NULL, 0);
	ferry_stop_clock(ferry);
}

void
ferry_plan(struct ferry *ferry, const struct change *changes, size_t count)
{
	timeline_set(&ferry->timeline, changes, count);
}

static void
restart(struct ferry *ferry, int64_t now_ns)
{
	for (enum direction i = UP; i < DIRECTIONS; i++)
		chain_restart(ferry->ways[i].chain, &ferry->ways[i].path, now_ns);
}

void
ferry_start_clock(struct ferry *ferry)
{
	int64_t now_ns = clock_now();

	restart(ferry, now_ns);
	timeline_start(&ferry->timeline, now_ns);
}

void
ferry_stop_clock(struct ferry *ferry)
{
	restart(ferry, clock_now());
	timeline_stop(&ferry->timeline);
}

static void
apply_changes(struct ferry *ferry, int64_t now_ns)
{
	struct chain *chains[DIRECTIONS] = {ferry->ways[UP].chain, ferry->ways[DOWN].chain};

	timeline_apply(&ferry->timeline, chains, now_ns);
}

/* A packet comes into the link. */
static void
admit(struct ferry *ferry, struct way *way, struct packet *packet)
{
	int64_t now_ns = clock_now();

	if (now_ns >= ferry->timeline.due_ns)
		apply_changes(ferry, now_ns);
	chain_push(way->chain, packet, now_ns);
}

struct chain *
ferry_chain(const struct ferry *ferry, enum direction direction)
{
	return ferry->ways[direction].chain;
}

/* Does it ask for a neighbour's hardware address, from an address in use? Sent from `::` it
 * asks whether an address is free. */
static bool
is_solicitation(const struct packet *packet)
{
	static const uint8_t unspecified[16];

	return packet->len > 40 && packet->data[6] == IPPROTO_ICMPV6 &&
	       packet->data[40] == ND_NEIGHBOR_SOLICIT &&
	       memcmp(packet->data + 8, unspecified, sizeof(unspecified)) != 0;
}

/* IPv6 multicast. Nothing on a link of two hosts but the search for a neighbour needs it, but
 * each kernel reports its group memberships at random times, and those packets would shift
 * which of a probe's the loss stage takes. */
static bool
is_chatter(const struct packet *packet)
{
	return packet->len >= 40 && packet->data[0] >> 4 == 6 && packet->data[24] == 0xff &&
	       !is_solicitation(packet);
}

/* Where the device's bytes begin: the header, if it has one, ends where the packet begins. One
 * piece, because readv() and writev() of two cost a tenth more. */
static uint8_t *
frame(const struct ferry *ferry, struct packet *packet)
{
	return (uint8_t *)packet + offsetof(struct packet, data) - ferry->header;
}

static ssize_t
read_packet(const struct ferry *ferry, int fd, struct packet *packet)
{
	ssize_t len = read(fd, frame(ferry, packet), ferry->header + sizeof(packet->data));

	if (len > 0)
		packet->len = (uint32_t)len - (uint32_t)ferry->header;
	return len;
}

static bool
write_packet(const struct ferry *ferry, int fd, struct packet *packet)
{
	return write(fd, frame(ferry, packet), ferry->header + packet->len) >= 0;
}

/* Is the device behind this failed read or write gone or down? */
static bool
is_broken(void)
{
	return errno == EBADFD || errno == EIO;
}

/* Read what has come. Returns the number of packets, -1 when the device is gone. */
static int
take_in(struct ferry *ferry, struct way *way)
{
	for (int count = 0; count < BATCH; count++) {
		struct packet *packet = packet_take(&ferry->pool);
		ssize_t len = read_packet(ferry, way->from, packet);

		if (len <= 0) {
			packet_give_back(&ferry->pool, packet);
			return len < 0 && is_broken() ? -1 : count;
		}
		if (is_chatter(packet)) {
			way->chatter++;
			packet_give_back(&ferry->pool, packet);
		} else {
			admit(ferry, way, packet);
		}
	}
	return BATCH;
}

/* Write what is due. Returns the number of packets, -1 when the device is gone or down. */
static int
release(struct ferry *ferry, struct way *way)
{
	for (int count = 0; count < BATCH; count++) {
		int64_t now_ns = clock_now();
		struct packet *packet = chain_pop(way->chain, now_ns);
		bool written, expected;

		if (!packet)
			return count;
		lateness_add(&ferry->lateness, now_ns - packet->due_ns);
		written = write_packet(ferry, way->to, packet);
		/* A packet that a flipped bit made neither IPv4 nor IPv6 is corrupted, not
		 * missed. */
		expected = packet->marks & PACKET_CORRUPTED && errno == EINVAL;
		packet_give_back(&ferry->pool, packet);
		if (!written && is_broken())
			return -1;
		way->refused += !written && !expected;
	}
	return BATCH;
}

/* Move packets both ways. Returns how many, -1 when a device is gone or down. */
static int
move(struct ferry *ferry)
{
	int moved = 0;

	for (enum direction i = UP; i < DIRECTIONS; i++) {
		struct way *way = &ferry->ways[i];
		int released = release(ferry, way);
		int taken = released < 0 ? -1 : take_in(ferry, way);

		if (taken < 0)
			return -1;
		moved += released + taken;
	}
	return moved;
}

static int64_t
next_due(const struct ferry *ferry)
{
	int64_t up = chain_next_due(ferry->ways[UP].chain);
	int64_t down = chain_next_due(ferry->ways[DOWN].chain);

	return up < down ? up : down;
}

/* Sleep until a packet comes, `stop_fd` can be read, or it is time to look or to spin for the
 * next due one. Returns true when to stop. */
static bool
rest(struct ferry *ferry, int stop_fd)
{
	struct pollfd fds[] = {
		{stop_fd, POLLIN, 0},
		{ferry->ways[UP].from, POLLIN, 0},
		{ferry->ways[DOWN].from, POLLIN, 0},
	};
	int64_t now_ns = clock_now();
	int64_t sleep_ns = pace_sleep_ns(&ferry->pace, next_due(ferry), now_ns);
	struct timespec timeout = {.tv_nsec = (long)sleep_ns};

	return sleep_ns > 0 && ppoll(fds, 3, &timeout, NULL) > 0 && fds[0].revents;
}

static bool
should_stop(int stop_fd)
{
	struct pollfd fd = {stop_fd, POLLIN, 0};

	return poll(&fd, 1, 0) > 0;
}

int
ferry_run(struct ferry *ferry, int stop_fd, struct err *err)
{
	int64_t now_ns = clock_now(), check_ns = now_ns + STOP_CHECK_NS;
	bool stop = false;

	pace_begin(&ferry->pace, now_ns);
	while (!stop) {
		int moved = move(ferry);

		if (moved < 0)
			return err_sys(err, "the link broke: a TUN device is gone or down");
		stop = moved == 0 && rest(ferry, stop_fd);
		now_ns = clock_now();
		pace_note(&ferry->pace, now_ns);
		if (now_ns < check_ns)
			continue;
		stop = stop || should_stop(stop_fd);
		check_ns = now_ns + STOP_CHECK_NS;
	}
	return 0;
}

const struct lateness *
ferry_lateness(const struct ferry *ferry)
{
	return &ferry->lateness;
}

const struct stalls *
ferry_stalls(const struct ferry *ferry)
{
	return &ferry->pace.stalls;
}

void
ferry_count(
	const struct ferry *ferry, enum direction direction, struct ferry_counters *counters)
{
	const struct way *way = &ferry->ways[direction];

	*counters = (struct ferry_counters){
		.chain = *chain_counters(way->chain),
		.refused = way->refused,
		.chatter = way->chatter,
	};
}

void
ferry_free(struct ferry *ferry)
{
	if (!ferry)
		return;
	for (enum direction i = UP; i < DIRECTIONS; i++)
		chain_free(ferry->ways[i].chain);
	packet_pool_free(&ferry->pool);
	free(ferry);
}
