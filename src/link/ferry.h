/* The emulator's loop: takes packets from two TUN devices, one a namespace, through a chain of
 * stages each way, and puts them into the other device when they are due. */
#ifndef LINK_FERRY_H
#define LINK_FERRY_H

#include <stdint.h>

#include "base/err.h"
#include "link/chain.h"
#include "link/ends.h"
#include "link/lateness.h"
#include "link/pace.h"
#include "link/profile.h"

struct ferry_counters {
	struct chain_counters chain;
	int64_t refused; /* the other device did not take them */
	int64_t chatter; /* multicast by the kernels themselves, left out of the link */
};

struct ferry;

/* Carries between two non-blocking TUN descriptors, which stay the caller's, undelayed until
 * ferry_shape(). Never NULL. */
struct ferry *ferry_new(const int tun[static ENDS]);

/* What the descriptors carry from now on are Ethernet frames: their headers pass as they are,
 * and everything else, chains and counters, sees the IP (or ARP) packets inside. */
void ferry_carry_frames(struct ferry *ferry);

/* Start both directions afresh: new chains, counters at zero. What is in flight is gone. */
void ferry_shape(
	struct ferry *ferry, const struct impairment path[static DIRECTIONS], uint64_t seed);

/* The link's changes, for a clock that stands still. They stay the caller's, until
 * ferry_shape().
 */
void ferry_plan(struct ferry *ferry, const struct change *changes, size_t count);

/* Start the link's clock: from here on the n-th packet meets the n-th random numbers, a trace
 * begins and changes come. What is in flight and the counters stay. */
void ferry_start_clock(struct ferry *ferry);

/* Back to the state given to ferry_shape(): no changes come any more. */
void ferry_stop_clock(struct ferry *ferry);

/* The chain of one direction, to add stages to. Valid until ferry_shape(). */
struct chain *ferry_chain(const struct ferry *ferry, enum direction direction);

/* Carry packets until `stop_fd` can be read. -1 when a device is gone or down. */
int ferry_run(struct ferry *ferry, int stop_fd, struct err *err);

/* Both since ferry_shape(). */
const struct lateness *ferry_lateness(const struct ferry *ferry);
const struct stalls *ferry_stalls(const struct ferry *ferry);
void ferry_count(
	const struct ferry *ferry, enum direction direction, struct ferry_counters *counters);

/* NULL is fine. */
void ferry_free(struct ferry *ferry);

#endif
