/* Link backend `tun`: two TUN devices and the emulator between them, in this process. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/netns.h"
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
	int echo_core; /* for calibration; -1: any */
};

static void
tun_link_close(struct link *link)
{
	struct tun_link *self = link->state;

	if (!self)
		return;
	ferry_free(self->ferry);
	for (enum end end = NEAR; end < ENDS; end++) {
		if (self->tun[end] >= 0)
			close(self->tun[end]);
		if (self->rtnl[end] >= 0)
			close(self->rtnl[end]);
	}
	free(self);
	link->state = NULL;
}

/* Whatever the machine lets us have to wake on time. Children do not inherit the priority. With
 * it, the last core is ours when we need it, and staying there makes wake-ups alike; without
 * it, to be pinned would mean to wait behind whoever else is there. */
static void
hurry(const struct link *link)
{
	struct sched_param param = {.sched_priority = PRIORITY};
	struct tun_link *self = link->state;
	int first, last;

	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) < 0) {
		link_info(link, "scheduling", "normal (SCHED_FIFO: %s)", strerror(errno));
	} else if (cpu_range(&first, &last, NULL) == 0 && cpu_pin_to(last, NULL) == 0) {
		self->echo_core = first;
		link_info(link, "scheduling", "SCHED_FIFO %d on core %d", PRIORITY, last);
	}
}

static int
open_end(struct link *link, enum end end, struct err *err)
{
	struct tun_link *self = link->state;

	self->tun[end] = tun_open(link->ns[end], end, err);
	if (self->tun[end] < 0)
		return self->tun[end];
	self->rtnl[end] = rtnl_open(err);
	return self->rtnl[end] < 0 ? -1 : 0;
}

static int
shape(struct link *link, struct err *err)
{
	struct tun_link *self = link->state;
	struct impairment path[DIRECTIONS];
	struct base_cost cost;

	if (calibrate(self->ferry, link->ns, link->profile, self->echo_core, &cost, err) < 0)
		return -1;
	for (enum direction i = UP; i < DIRECTIONS; i++)
		path[i] = calibrated_path(&link->profile->path[i], cost.ns[i]);
	ferry_shape(self->ferry, path, link->seed);
	link_info(link, "base_rtt_ns", "%lld", (long long)(cost.ns[UP] + cost.ns[DOWN]));
	link_info(link, "base_samples", "%lld", (long long)cost.samples);
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
		status = shape(link, err);
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

static int
tun_link_count(struct link *link, struct link_counters *counters, struct err *err)
{
	struct tun_link *self = link->state;
	const struct lateness *lateness = ferry_lateness(self->ferry);
	const struct ferry_stalls *stalls = ferry_stalls(self->ferry);

	for (enum direction i = UP; i < DIRECTIONS; i++) {
		struct ferry_counters ferry;
		struct rtnl_counters device;

		/* UP leaves the namespace of the near end: its device is the queue ahead of us.
		 */
		if (rtnl_read_counters(
			    self->rtnl[i == UP ? NEAR : FAR], LINK_DEVICE, &device, err) < 0)
			return -1;
		ferry_count(self->ferry, i, &ferry);
		counters->packets[i] = ferry.chain.packets + device.tx_dropped;
		counters->lost[i] = ferry.chain.lost;
		counters->dropped[i] = ferry.chain.dropped + ferry.refused + device.tx_dropped;
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
	.count = tun_link_count,
	.close = tun_link_close,
};
