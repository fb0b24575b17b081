/* The emulator's loop: takes packets from two TUN devices, one a namespace, through a chain of
 * stages each way, and puts them into the other device when they are due. */
#ifndef LINK_FERRY_H
#define LINK_FERRY_H

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "link/chain.h"
#include "link/ends.h"
#include "link/lateness.h"
#include "link/profile.h"

struct ferry_counters {
	struct chain_counters chain;
	int64_t refused; /* the other device did not take them */
	int64_t chatter; /* multicast by the kernels themselves, left out of the link */
};

/* What counts as a stall: more than waking takes on a machine that has a core to give (at most
 * 0.7 ms as SCHED_FIFO, 5 ms without), about what a busy one makes a process wait for its turn.
 */
#define FERRY_STALL_NS (5 * NS_PER_MS)

/* How long the loop stood still, unable to see a packet that came. */
struct ferry_stalls {
	int64_t max_ns; /* the longest, counted or not */
	int64_t count;  /* longer than FERRY_STALL_NS */
};

struct ferry;

/* Carries between two non-blocking TUN descriptors, which stay the caller's, undelayed until
 * ferry_shape(). Never NULL. */
struct ferry *ferry_new(const int tun[static ENDS]);

/* Start both directions afresh: new chains, counters at zero. What is in flight is gone. */
void ferry_shape(
	struct ferry *ferry, const struct impairment path[static DIRECTIONS], uint64_t seed);

/* The chain of one direction, to add stages to. Valid until ferry_shape(). */
struct chain *ferry_chain(const struct ferry *ferry, enum direction direction);

/* Carry packets until `stop_fd` can be read. -1 when a device is gone or down. */
int ferry_run(struct ferry *ferry, int stop_fd, struct err *err);

/* Both since ferry_shape(). */
const struct lateness *ferry_lateness(const struct ferry *ferry);
const struct ferry_stalls *ferry_stalls(const struct ferry *ferry);
void ferry_count(
	const struct ferry *ferry, enum direction direction, struct ferry_counters *counters);

/* NULL is fine. */
void ferry_free(struct ferry *ferry);

#endif
