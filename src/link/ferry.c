/* The emulator's loop.
 *
 *     namespace of the client          this process             namespace of the server
 *
 *       link0 (TUN, near) --read--> chain UP   --write--> link0 (TUN, far)
 *       link0 (TUN, near) <--write-- chain DOWN <--read--  link0 (TUN, far)
 *
 * A packet gets its due time when it is read and waits in its chain's list until then. One
 * thread serves both directions: every turn releases what is due and takes in what has come,
 * and only a turn that found nothing to do goes to sleep.
 *
 * Sleeping is where accuracy is lost. An idle virtual core halts, and how late it wakes grows
 * with how long it slept: on the machine this was written on 17 us after 0.1 ms, 30 us after 1
 * ms, 130 us after 25 ms, twice that at the 99th percentile. So a long wait is cut in three:
 * sleep until DOZE_NS before the due time, which absorbs the late wake of a cold core; a short
 * nap until SPIN_NS before it, from which a core that was awake just now returns on time; and a
 * spin over the rest, about SPIN_NS less the nap's own lateness. The ferry never spins longer
 * than SPIN_NS for a packet, and never with nothing in flight.
 *
 * A ferry that is stopped, or gets no processor, sees nothing of it in its packets: those that
 * came meanwhile waited in the TUN device and are stamped when they are read. So every turn
 * notes when the next one has to begin: at once, or at the end of a sleep, which is LOOK_NS at
 * most even when nothing is in flight. A turn that begins later is a stall, and a packet may
 * have waited that long unseen, or LOOK_NS longer, if the stall began right after the ferry
 * fell asleep. */
#include "link/ferry.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

#define SPIN_NS (60 * NS_PER_US)
#define DOZE_NS (400 * NS_PER_US)

/* The longest sleep: how much of a stall may go unnoticed, bought with 100 wakes a second. */
#define LOOK_NS (10 * NS_PER_MS)

/* How many packets one direction may move before the other gets its turn. */
#define BATCH 32

/* How often a loop that never sleeps looks whether it should stop. */
#define STOP_CHECK_NS (5 * NS_PER_MS)

/* Packets to have memory for from the start: more only costs page faults later. */
#define RESERVE_PACKETS 512

struct way {
	int from, to;
	struct chain *chain;
	int64_t refused;
	int64_t chatter;
};

struct ferry {
	struct way ways[DIRECTIONS];
	struct packet_pool pool;
	struct lateness lateness;
	struct ferry_stalls stalls;
	int64_t look_ns; /* when the next turn has to begin */
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
ferry_shape(struct ferry *ferry, const struct impairment path[static DIRECTIONS], uint64_t seed)
{
	for (enum direction i = UP; i < DIRECTIONS; i++) {
		struct way *way = &ferry->ways[i];

		chain_free(way->chain);
		way->chain = chain_new(&ferry->pool, seed, i);
		chain_add_path(way->chain, &path[i]);
		way->refused = 0;
		way->chatter = 0;
	}
	ferry->lateness = (struct lateness){0};
	ferry->stalls = (struct ferry_stalls){0};
}

struct chain *
ferry_chain(const struct ferry *ferry, enum direction direction)
{
	return ferry->ways[direction].chain;
}

/* IPv6 multicast. Nothing on a link of two hosts without neighbour discovery needs it, but each
 * kernel reports its group memberships at random times, and those packets would shift which of
 * a probe's the loss stage takes. */
static bool
is_chatter(const struct packet *packet)
{
	return packet->len >= 40 && packet->data[0] >> 4 == 6 && packet->data[24] == 0xff;
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
		ssize_t len = read(way->from, packet->data, sizeof(packet->data));

		if (len <= 0) {
			packet_give_back(&ferry->pool, packet);
			return len < 0 && is_broken() ? -1 : count;
		}
		packet->len = (uint32_t)len;
		if (is_chatter(packet)) {
			way->chatter++;
			packet_give_back(&ferry->pool, packet);
		} else {
			chain_push(way->chain, packet, clock_now());
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
		bool written;

		if (!packet)
			return count;
		lateness_add(&ferry->lateness, now_ns - packet->due_ns);
		written = write(way->to, packet->data, packet->len) >= 0;
		packet_give_back(&ferry->pool, packet);
		if (!written && is_broken())
			return -1;
		way->refused += !written;
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
		int released = release(ferry, way), taken = take_in(ferry, way);

		if (released < 0 || taken < 0)
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

/* When to wake for a packet due at `due_ns`: see the top of this file. */
static int64_t
wake_time(int64_t due_ns, int64_t now_ns)
{
	if (due_ns - now_ns > 2 * DOZE_NS)
		return due_ns - DOZE_NS;
	return due_ns - SPIN_NS;
}

/* We are awake at `now_ns`: is that when we should be? */
static void
note_stall(struct ferry *ferry, int64_t now_ns)
{
	int64_t stall_ns = now_ns - ferry->look_ns;

	if (stall_ns > ferry->stalls.max_ns)
		ferry->stalls.max_ns = stall_ns;
	ferry->stalls.count += stall_ns > FERRY_STALL_NS;
	ferry->look_ns = now_ns;
}

/* Sleep until a packet comes, `stop_fd` can be read, it is time to spin for the next due one,
 * or LOOK_NS have passed. Returns true when to stop. */
static bool
rest(struct ferry *ferry, int stop_fd)
{
	struct pollfd fds[] = {
		{stop_fd, POLLIN, 0},
		{ferry->ways[UP].from, POLLIN, 0},
		{ferry->ways[DOWN].from, POLLIN, 0},
	};
	int64_t now_ns = clock_now(), wait_ns = wake_time(next_due(ferry), now_ns) - now_ns;
	struct timespec timeout = {0};

	note_stall(ferry, now_ns);
	if (wait_ns <= 0)
		return false;
	if (wait_ns > LOOK_NS)
		wait_ns = LOOK_NS;
	ferry->look_ns = now_ns + wait_ns;
	timeout.tv_nsec = (long)wait_ns;
	return ppoll(fds, 3, &timeout, NULL) > 0 && fds[0].revents;
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

	ferry->look_ns = now_ns;
	while (!stop) {
		int moved = move(ferry);

		if (moved < 0)
			return err_sys(err, "the link broke: a TUN device is gone or down");
		stop = moved == 0 && rest(ferry, stop_fd);
		now_ns = clock_now();
		note_stall(ferry, now_ns);
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

const struct ferry_stalls *
ferry_stalls(const struct ferry *ferry)
{
	return &ferry->stalls;
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
