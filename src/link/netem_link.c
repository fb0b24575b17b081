/* Link backend `netem`: a veth pair, and the kernel's own netem on each end's egress.
 *
 *   near: link0 [netem UP] ---- veth ---- [netem DOWN] link0 :far
 *
 * Where a queue is bounded in bytes, the rate is not netem's but that of a token bucket behind
 * it: [netem, tbf]. What the path takes by itself is taken out of the delays (calibrate.h). */
#include <errno.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"
#include "link/backend.h"
#include "link/calibrate.h"
#include "link/netem.h"
#include "link/netem_shown.h"
#include "link/netem_tc.h"
#include "link/rtnl.h"
#include "net/cpu.h"

#define TXQUEUELEN 1000

/* What netem was told: the profile's, calibrated. */
struct netem_link {
	struct impairment path[DIRECTIONS];
};

static enum direction
egress(enum end end)
{
	return end == NEAR ? UP : DOWN;
}

/* What the qdisc of `end` is told. */
static const struct impairment *
told(const struct link *link, enum end end)
{
	const struct netem_link *self = link->state;

	return &self->path[egress(end)];
}

static int
add_qdiscs(const struct link *link, enum end end, bool seeded, struct err *err)
{
	/* Each direction its own sequence. */
	uint64_t seed = link->seed * DIRECTIONS + egress(end);

	return netem_tc_add(link, end, told(link, end), seeded ? &seed : NULL, err);
}

static int
confirm(const struct link *link, enum end end, bool *seeded, struct err *err)
{
	struct proc_output output = {0};
	int status = netem_tc_show(link, end, false, &output, err);
	const char *json = buf_text(&output.out);

	if (status == 0) {
		link_info(link, end == NEAR ? "qdisc_near" : "qdisc_far", "%s", json);
		*seeded = *seeded && netem_has_seed(json);
		status = netem_confirm(json, told(link, end), err);
	}
	proc_output_free(&output);
	return status;
}

/* Segments must meet netem one by one: else loss and limit count packets of up to 64 KiB. */
static int
offloads_off(const struct space *space, const char *device, struct err *err)
{
	static const uint32_t commands[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO};
	int fd = space_socket(space, AF_INET, SOCK_DGRAM, 0, err), status = 0;

	if (fd < 0)
		return err_prefix(err, "turn offloads off");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && !status; i++) {
		struct ethtool_value value = {.cmd = commands[i], .data = 0};
		struct ifreq request = {0};

		memcpy(request.ifr_name, device, strlen(device));
		request.ifr_data = (void *)&value;
		if (ioctl(fd, SIOCETHTOOL, &request) < 0 && errno != EOPNOTSUPP)
			status = err_sys(err, "turn offloads off");
	}
	close(fd);
	return status;
}

/* The other end's hardware address, so that nothing is asked over the link. */
static int
settle_neighbour(const struct link *link, enum end end, int rtnl, struct err *err)
{
	const struct end_address *self = &link->ends[end], *peer = &link->ends[!end];

	if (rtnl_add_neighbour(rtnl, self->device, AF_INET, peer->ipv4, peer->mac, err) < 0)
		return -1;
	if (!end_has_ipv6(&link->space[end], self))
		return 0;
	return rtnl_add_neighbour(rtnl, self->device, AF_INET6, peer->ipv6, peer->mac, err);
}

static int
configure(const struct link *link, enum end end, struct err *err)
{
	const struct end_address *self = &link->ends[end];
	const struct space *space = &link->space[end];
	int rtnl = rtnl_open(space, err), status;

	if (rtnl < 0)
		return -1;
	status = end_configure(rtnl, self, TXQUEUELEN, err);
	if (status == 0)
		status = offloads_off(space, self->device, err);
	if (status == 0)
		status = rtnl_one_segment(rtnl, self->device, err);
	if (status == 0 && !link->profile->cold)
		status = settle_neighbour(link, end, rtnl, err);
	close(rtnl);
	return status;
}

static int
add_veth(const struct link *link, struct err *err)
{
	int rtnl = rtnl_open(&link->space[NEAR], err), status;
	int far = rtnl < 0 ? -1 : space_descriptor(&link->space[FAR], err);

	if (far < 0) {
		if (rtnl >= 0)
			close(rtnl);
		return -1;
	}
	status = rtnl_add_veth(rtnl, far, link->ends, err);
	if (status < 0 && errno == EPERM) {
		err_prefix(err, "no CAP_NET_ADMIN in this namespace: run as root, or under "
				"'unshare -Urn'");
		status = LINK_UNSUPPORTED;
	} else if (status < 0 && errno == EOPNOTSUPP) {
		err_prefix(err, "the kernel has no veth: 'sudo modprobe veth'");
		status = LINK_UNSUPPORTED;
	}
	close(far);
	close(rtnl);
	return status;
}

static void
netem_close(struct link *link)
{
	/* Both ends go with one. In a namespace that is gone, so is the device. */
	int rtnl = rtnl_open(&link->space[NEAR], NULL);

	free(link->state);
	link->state = NULL;
	if (rtnl < 0)
		return;
	rtnl_delete(rtnl, link->ends[NEAR].device);
	close(rtnl);
}

static int
forget_peer(const struct link *link, enum end end, struct err *err)
{
	int rtnl = rtnl_open(&link->space[end], err), status;

	if (rtnl < 0)
		return -1;
	status = end_forget_peer(rtnl, &link->ends[end], &link->ends[!end], err);
	close(rtnl);
	return status;
}

/* Leaves no qdiscs, and self->path as it is to be. */
static int
take_out_base_cost(struct link *link, struct err *err)
{
	struct netem_link *self = link->state;
	struct base_cost cost;
	int status = 0, first, last;

	calibration_path(link->profile, self->path);
	for (enum end end = NEAR; end < ENDS && !status; end++)
		status = add_qdiscs(link, end, false, err);
	if (cpu_range(&first, &last, NULL) < 0)
		first = -1;
	if (!status)
		status = calibrate(link, ARRIVAL_STAMPED, first, &cost, err);
	for (enum end end = NEAR; end < ENDS && !status; end++) {
		enum direction i = egress(end);

		self->path[i] = calibrated_path(&link->profile->path[i], cost.ns[i]);
		/* What tc shows again is in whole microseconds, rounded twice. */
		self->path[i].delay_ns -= self->path[i].delay_ns % NS_PER_US;
		status = netem_tc_delete(link, end, err);
		if (!status && link->profile->cold)
			status = forget_peer(link, end, err);
	}
	return status;
}

static int
shape(struct link *link, struct err *err)
{
	bool seeded = netem_tc_has_seed(link);
	int status = 0;

	for (enum end end = NEAR; end < ENDS && !status; end++)
		status = configure(link, end, err);
	if (!status)
		status = take_out_base_cost(link, err);
	for (enum end end = NEAR; end < ENDS && !status; end++) {
		status = add_qdiscs(link, end, seeded, err);
		if (!status)
			status = confirm(link, end, &seeded, err);
	}
	if (!status)
		link_info(link, "seed_honoured", seeded ? "yes" : "no");
	return status;
}

/* What only our emulator can do is refused, whatever this machine has. */
static int
check_profile(const struct profile *profile, struct err *err)
{
	const char *key = profile_emulator_key(profile);

	if (!key)
		return 0;
	err_set(err, "netem has nothing for '%s': take the backend tun", key);
	return LINK_UNSUPPORTED;
}

/* Where netem is not what the profile's keys mean elsewhere. */
static void
tell_differences(const struct link *link)
{
	const struct impairment *up = &link->profile->path[UP];
	const struct impairment *down = &link->profile->path[DOWN];

	for (enum direction i = UP; i < DIRECTIONS; i++)
		if (netem_bucket_bytes(&link->profile->path[i]))
			link_info(link, i == UP ? "rate_bucket_up" : "rate_bucket_down",
				"%" PRId64 " bytes leave at once after a pause",
				netem_bucket_bytes(&link->profile->path[i]));
	if ((up->rate_bps && up->reorder_ppm) || (down->rate_bps && down->reorder_ppm))
		link_info(link, "reorder", "what is sent on ahead does not wait for the rate");
	if (up->corrupt_ppm || down->corrupt_ppm)
		link_info(link, "corrupt", "a bit of the frame, its Ethernet header included");
	if (up->duplicate_ppm || down->duplicate_ppm)
		link_info(link, "duplicate",
			"netem does not count copies: packets offered are an estimate");
}

static int
netem_open(struct link *link, struct err *err)
{
	int status = check_profile(link->profile, err);

	if (!status)
		status = add_veth(link, err);
	if (status)
		return status;
	link->state = alloc_zero(1, sizeof(struct netem_link));
	status = shape(link, err);
	if (status)
		netem_close(link);
	else
		tell_differences(link);
	return status;
}

/* The kernel does the work. */
static int
netem_run(struct link *link, int stop_fd, struct err *err)
{
	struct pollfd fd = {stop_fd, POLLIN, 0};

	(void)link;
	while (poll(&fd, 1, -1) < 0)
		if (errno != EINTR)
			return err_sys(err, "wait");
	return 0;
}

/* What one end counted, if it still shapes as it was told to. */
static int
read_end(
	const struct link *link, enum end end, struct netem_counters *counters, struct err *err)
{
	struct proc_output output = {0};
	int status = netem_tc_show(link, end, true, &output, err);
	const char *json = buf_text(&output.out);

	if (status == 0)
		status = netem_read_counters(json, counters, err);
	if (status == 0 && netem_confirm(json, told(link, end), err) < 0)
		status = err_prefix(err, "the link broke");
	proc_output_free(&output);
	return status ? -1 : 0;
}

static int
netem_count(struct link *link, struct link_counters *counters, struct err *err)
{
	for (enum end end = NEAR; end < ENDS; end++) {
		enum direction i = egress(end);
		const struct impairment *path = &link->profile->path[i];
		struct netem_counters read;
		int64_t handled;

		if (read_end(link, end, &read, err) < 0)
			return -1;
		handled = read.packets + read.drops;
		counters->packets[i] = netem_offered(handled, path);
		/* A queue in bytes counts for itself what it had no room for. */
		counters->lost[i] = netem_explained(
			handled, read.drops - read.queue_drops, path);
		counters->dropped[i] = read.drops - counters->lost[i];
	}
	return 0;
}

const struct backend backend_netem = {
	.name = "netem",
	.open = netem_open,
	.run = netem_run,
	.count = netem_count,
	.close = netem_close,
};
