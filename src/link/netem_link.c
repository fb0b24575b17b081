/* Link backend `netem`: a veth pair, and the kernel's own netem on each end's egress.
 *
 *   near: link0 [netem UP] ---- veth ---- [netem DOWN] link0 :far */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/netns.h"
#include "base/proc.h"
#include "link/backend.h"
#include "link/netem.h"
#include "link/rtnl.h"

#define TC_TIMEOUT_NS (5 * NS_PER_S)
#define TXQUEUELEN 1000

static enum direction
egress(enum end end)
{
	return end == NEAR ? UP : DOWN;
}

static int
run_tc(const char *const argv[], struct proc_output *output, struct err *err)
{
	if (proc_capture(argv, clock_now() + TC_TIMEOUT_NS, output, err) == 0)
		return output->timed_out ? err_set(err, "tc did not end within 5 s") : 0;
	if (errno != ENOENT && errno != EACCES)
		return -1;
	err_prefix(err, "no tc on this machine: 'sudo apt-get install iproute2'");
	return LINK_UNSUPPORTED;
}

static int
explain(const struct proc_output *output, struct err *err)
{
	char *line = proc_last_line(&output->err);
	int status = LINK_UNSUPPORTED;

	switch (netem_fault(buf_text(&output->err))) {
	case NETEM_NO_QDISC:
		err_set(err,
			"the kernel has no netem (sch_netem): 'sudo modprobe sch_netem', or a "
			"kernel "
			"with CONFIG_NET_SCH_NETEM; tc says: %s",
			line);
		break;
	case NETEM_NO_PRIVILEGE:
		err_set(err,
			"no CAP_NET_ADMIN in this namespace: run as root, or under 'unshare "
			"-Urn'; "
			"tc says: %s",
			line);
		break;
	case NETEM_OTHER:
		status = err_set(err, "tc failed with %d: %s", output->exit_status, line);
	}
	free(line);
	return status;
}

/* What `tc [-s] -j qdisc show` says about the current namespace's end. */
static int
show(bool counters, struct proc_output *output, struct err *err)
{
	const char *argv[] = {"tc", "-s", "-j", "qdisc", "show", "dev", LINK_DEVICE, NULL};
	int status;

	if (!counters) {
		argv[1] = "-j";
		argv[2] = "-d";
	}
	status = run_tc(argv, output, err);
	if (status == 0 && output->exit_status)
		status = explain(output, err);
	return status;
}

/* Can this tc pass a seed on? Its help says so since iproute2 6.6 or so. */
static bool
tc_has_seed(void)
{
	static const char *const argv[] = {
		"tc", "qdisc", "add", "dev", LINK_DEVICE, "root", "netem", "help", NULL};
	struct proc_output output = {0};
	bool has = run_tc(argv, &output, NULL) == 0 &&
		   (strstr(buf_text(&output.out), "seed") ||
			   strstr(buf_text(&output.err), "seed"));

	proc_output_free(&output);
	return has;
}

static int
add_qdisc(const struct link *link, enum end end, bool seeded, struct err *err)
{
	/* Each direction its own sequence. */
	uint64_t seed = link->seed * DIRECTIONS + egress(end);
	struct proc_output output = {0};
	struct netem_args args;
	int status;

	netem_argv(
		LINK_DEVICE, &link->profile->path[egress(end)], seeded ? &seed : NULL, &args);
	status = run_tc(args.argv, &output, err);
	if (status == 0 && output.exit_status)
		status = explain(&output, err);
	proc_output_free(&output);
	return status;
}

static int
confirm(const struct link *link, enum end end, bool *seeded, struct err *err)
{
	struct proc_output output = {0};
	int status = show(false, &output, err);
	const char *json = buf_text(&output.out);

	if (status == 0) {
		link_info(link, end == NEAR ? "qdisc_near" : "qdisc_far", "%s", json);
		*seeded = *seeded && netem_has_seed(json);
		status = netem_confirm(json, &link->profile->path[egress(end)], err);
	}
	proc_output_free(&output);
	return status;
}

/* Segments must meet netem one by one: else loss and limit count packets of up to 64 KiB. */
static int
offloads_off(struct err *err)
{
	static const uint32_t commands[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), status = 0;

	if (fd < 0)
		return err_sys(err, "turn offloads off");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && !status; i++) {
		struct ethtool_value value = {.cmd = commands[i], .data = 0};
		struct ifreq request = {.ifr_name = LINK_DEVICE};

		request.ifr_data = (void *)&value;
		if (ioctl(fd, SIOCETHTOOL, &request) < 0 && errno != EOPNOTSUPP)
			status = err_sys(err, "turn offloads off");
	}
	close(fd);
	return status;
}

/* Addresses, and the other end's hardware address, so that nothing is asked over the link. */
static int
configure(enum end end, struct err *err)
{
	const struct end_address *peer = &end_addresses[!end];
	int rtnl, status;

	if (end_configure(end, TXQUEUELEN, err) < 0 || offloads_off(err) < 0)
		return -1;
	rtnl = rtnl_open(err);
	if (rtnl < 0)
		return -1;
	status = rtnl_one_segment(rtnl, err);
	if (status == 0)
		status = rtnl_add_neighbour(rtnl, AF_INET, peer->ipv4, peer->mac, err);
	if (status == 0 && end_has_ipv6(end))
		status = rtnl_add_neighbour(rtnl, AF_INET6, peer->ipv6, peer->mac, err);
	close(rtnl);
	return status;
}

static int
add_veth(const struct link *link, struct err *err)
{
	int rtnl, status;

	if (netns_enter(link->ns[NEAR], err) < 0)
		return -1;
	rtnl = rtnl_open(err);
	if (rtnl < 0)
		return -1;
	status = rtnl_add_veth(
		rtnl, link->ns[FAR], end_addresses[NEAR].mac, end_addresses[FAR].mac, err);
	if (status < 0 && errno == EPERM) {
		err_prefix(err, "no CAP_NET_ADMIN in this namespace: run as root, or under "
				"'unshare -Urn'");
		status = LINK_UNSUPPORTED;
	} else if (status < 0 && errno == EOPNOTSUPP) {
		err_prefix(err, "the kernel has no veth: 'sudo modprobe veth'");
		status = LINK_UNSUPPORTED;
	}
	close(rtnl);
	return status;
}

static void
netem_close(struct link *link)
{
	int rtnl;

	/* Both ends go with one. In a namespace that is gone, so is the device. */
	if (netns_enter(link->ns[NEAR], NULL) < 0)
		return;
	rtnl = rtnl_open(NULL);
	if (rtnl < 0)
		return;
	rtnl_delete(rtnl, LINK_DEVICE);
	close(rtnl);
}

static int
shape(struct link *link, struct err *err)
{
	bool seeded = tc_has_seed();
	int status = 0;

	for (enum end end = NEAR; end < ENDS && !status; end++) {
		status = netns_enter(link->ns[end], err);
		if (!status)
			status = configure(end, err);
		if (!status)
			status = add_qdisc(link, end, seeded, err);
		if (!status)
			status = confirm(link, end, &seeded, err);
	}
	if (!status)
		link_info(link, "seed_honoured", seeded ? "yes" : "no");
	return status;
}

static int
netem_open(struct link *link, struct err *err)
{
	int status = add_veth(link, err);

	if (status)
		return status;
	status = shape(link, err);
	if (status)
		netem_close(link);
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

static int
netem_count(struct link *link, struct link_counters *counters, struct err *err)
{
	for (enum end end = NEAR; end < ENDS; end++) {
		enum direction i = egress(end);
		struct proc_output output = {0};
		struct netem_counters read;
		int status = netns_enter(link->ns[end], err);

		if (status == 0)
			status = show(true, &output, err);
		if (status == 0)
			status = netem_read_counters(buf_text(&output.out), &read, err);
		proc_output_free(&output);
		if (status)
			return -1;
		counters->packets[i] = read.packets + read.drops;
		counters->lost[i] = netem_explained(
			counters->packets[i], read.drops, link->profile->path[i].loss_ppm);
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
