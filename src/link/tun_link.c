/* Link backend `tun`: two TUN devices and the emulator between them, in this process. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "link/backend.h"
#include "link/calibrate.h"
#include "link/ferry.h"
#include "link/rtnl.h"
#include "link/tun.h"
#include "net/cpu.h"

#define PRIORITY 10

struct tun_link {
	int tun[ENDS];
	int rtnl[ENDS]; /* sockets that read the devices' counters, each in its namespace */
	struct ferry *ferry;
	struct change *changes; /* the profile's, calibrated */
	int echo_core;          /* for calibration; -1: any */
};

static void
tun_link_close(struct link *link)
{
	struct tun_link *self = link->state;

	if (!self)
		return;
	ferry_free(self->ferry);
	free(self->changes);
	for (enum end end = NEAR; end < ENDS; end++) {
		if (self->tun[end] >= 0)
			close(self->tun[end]);
		if (self->rtnl[end] >= 0)
			close(self->rtnl[end]);
	}
	free(self);
	link->state = NULL;
}

/* Whatever the machine lets us have to wake on time. Children do not inherit the priority. The
 * ferry stays on the last core and the echo, like most probes and `rttlink check`, on the
 * first: what a wake-up costs depends on whether it crosses cores, and 0.5 ms read 0.45 ms or
 * 0.51 ms depending on where the two happened to be. */
static void
hurry(const struct link *link)
{
	struct sched_param param = {.sched_priority = PRIORITY};
	struct tun_link *self = link->state;
	int first, last, core = -1;

	prctl(PR_SET_TIMERSLACK, 1);
	if (cpu_range(&first, &last, NULL) == 0 && cpu_pin_to(last, NULL) == 0) {
		self->echo_core = first;
		core = last;
	}
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) < 0)
		link_info(link, "scheduling", "normal on core %d (SCHED_FIFO: %s)", core,
			strerror(errno));
	else
		link_info(link, "scheduling", "SCHED_FIFO %d on core %d", PRIORITY, core);
}

static int
open_end(struct link *link, enum end end, struct err *err)
{
	struct tun_link *self = link->state;

	self->rtnl[end] = rtnl_open(&link->space[end], err);
	if (self->rtnl[end] < 0)
		return -1;
	self->tun[end] = tun_open(&link->space[end], self->rtnl[end], &link->ends[end],
		link->profile->cold ? TUN_FRAMES : TUN_PACKETS, err);
	return self->tun[end] < 0 ? self->tun[end] : 0;
}

/* The profile's changes, less what the link costs by itself. */
static void
plan_changes(struct tun_link *self, const struct profile *profile, const struct base_cost *cost)
{
	size_t count = profile->change_count;

	if (!count)
		return;
	self->changes = alloc_zero(count, sizeof(*self->changes));
	for (size_t i = 0; i < count; i++) {
		self->changes[i].at_ns = profile->changes[i].at_ns;
		for (enum direction way = UP; way < DIRECTIONS; way++)
			self->changes[i].path[way] = calibrated_path(
				&profile->changes[i].path[way], cost->ns[way]);
	}
	ferry_plan(self->ferry, self->changes, count);
}

static int
shape(struct link *link, struct err *err)
{
	struct tun_link *self = link->state;
	struct impairment path[DIRECTIONS];
	struct base_cost cost;

	calibration_path(link->profile, path);
	ferry_shape(self->ferry, path, 0);
	if (calibrate(link, ARRIVAL_READ, self->echo_core, &cost, err) < 0)
		return -1;
	for (enum direction i = UP; i < DIRECTIONS; i++)
		path[i] = calibrated_path(&link->profile->path[i], cost.ns[i]);
	ferry_shape(self->ferry, path, link->seed);
	plan_changes(self, link->profile, &cost);
	return 0;
}

/* What calibration, which is over IPv4, made the two ends know of each other. */
static int
forget(const struct link *link, struct err *err)
{
	const struct tun_link *self = link->state;

	for (enum end end = NEAR; end < ENDS; end++)
		if (end_forget_peer(self->rtnl[end], &link->ends[end], &link->ends[!end], err) <
			0)
			return -1;
	return 0;
}

static int
tun_link_open(struct link *link, struct err *err)
{
	struct tun_link *self = alloc_zero(1, sizeof(*self));
	int status = 0;

	*self = (struct tun_link){.tun = {-1, -1}, .rtnl = {-1, -1}, .echo_core = -1};
	link->state = self;
	for (enum end end = NEAR; end < ENDS && !status; end++)
		status = open_end(link, end, err);
	if (!status) {
		hurry(link);
		self->ferry = ferry_new(self->tun);
		if (link->profile->cold)
			ferry_carry_frames(self->ferry);
		status = shape(link, err);
		if (!status && link->profile->cold)
			status = forget(link, err);
	}
	if (status)
		tun_link_close(link);
	return status;
}

static int
tun_link_run(struct link *link, int stop_fd, struct err *err)
{
	struct tun_link *self = link->state;

	return ferry_run(self->ferry, stop_fd, err);
}

static void
tun_link_clock(struct link *link, bool runs)
{
	struct tun_link *self = link->state;

	if (runs)
		ferry_start_clock(self->ferry);
	else
		ferry_stop_clock(self->ferry);
}

static int
tun_link_count(struct link *link, struct link_counters *counters, struct err *err)
{
	struct tun_link *self = link->state;
	const struct lateness *lateness = ferry_lateness(self->ferry);
	const struct stalls *stalls = ferry_stalls(self->ferry);

	for (enum direction i = UP; i < DIRECTIONS; i++) {
		enum end from = i == UP ? NEAR : FAR;
		struct ferry_counters ferry;
		struct rtnl_counters device;

		/* UP leaves the namespace of the near end: its device is the queue ahead of us.
		 */
		if (rtnl_read_counters(
			    self->rtnl[from], link->ends[from].device, &device, err) < 0)
			return -1;
		ferry_count(self->ferry, i, &ferry);
		counters->packets[i] = ferry.chain.packets + device.tx_dropped;
		counters->lost[i] = ferry.chain.lost;
		counters->dropped[i] = ferry.chain.dropped;
		counters->missed[i] = ferry.refused + device.tx_dropped;
		counters->duplicated[i] = ferry.chain.duplicated;
		counters->corrupted[i] = ferry.chain.corrupted;
		counters->reordered[i] = ferry.chain.reordered;
	}
	link_info(link, "lateness_p50_ns", "%lld", (long long)lateness_quantile(lateness, 500));
	link_info(link, "lateness_p99_ns", "%lld", (long long)lateness_quantile(lateness, 990));
	link_info(link, "lateness_max_ns", "%lld", (long long)lateness->max_ns);
	link_info(link, "stall_max_ns", "%lld", (long long)stalls->max_ns);
	link_info(link, "stalls", "%lld", (long long)stalls->count);
	return 0;
}

const struct backend backend_tun = {
	.name = "tun",
	.open = tun_link_open,
	.run = tun_link_run,
	.clock = tun_link_clock,
	.count = tun_link_count,
	.close = tun_link_close,
};
