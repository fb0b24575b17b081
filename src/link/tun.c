/* Opening /dev/net/tun (the kernel's Documentation/networking/tuntap.rst). */
#include "link/tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "link/backend.h"
#include "base/netns.h"

#define TUN_NODE "/dev/net/tun"

/* While the emulator is off the CPU packets wait in the device's own queue. The usual 500
 * overflow within 6 ms of a 1 Gbit/s flow: losses that no setting asked for. */
#define TUN_QUEUE 20000

/* What mends a failed open(); NULL when that is not for us to know. */
static const char *
open_mend(int error)
{
	switch (error) {
	case ENOENT:
		return "in a container start it with '--device " TUN_NODE
		       "'; elsewhere 'sudo mkdir "
		       "-p /dev/net && sudo mknod -m 666 " TUN_NODE " c 10 200'";
	case ENODEV:
	case ENXIO:
		return "the kernel has no TUN driver: 'sudo modprobe tun', or boot one that "
		       "has";
	case EPERM:
	case EACCES:
		return "'sudo chmod 666 " TUN_NODE
		       "' lets users make TUN devices in namespaces of "
		       "their own; in a container '--device " TUN_NODE "'";
	default:
		return NULL;
	}
}

/* errno, with what mends it. */
static int
unsupported(const char *what, const char *mend, struct err *err)
{
	err_set(err, "%s: %s; %s", what, strerror(errno), mend);
	return LINK_UNSUPPORTED;
}

static int
attach(int fd, struct err *err)
{
	struct ifreq request = {.ifr_name = LINK_DEVICE};

	request.ifr_flags = IFF_TUN | IFF_NO_PI;
	if (ioctl(fd, TUNSETIFF, &request) == 0)
		return 0;
	switch (errno) {
	case EPERM:
		return unsupported("make the TUN device " LINK_DEVICE,
			"no CAP_NET_ADMIN in this namespace: run as root, or under 'unshare "
			"-Urn'",
			err);
	case EBUSY:
		return err_set(err,
			"make the TUN device " LINK_DEVICE ": this namespace has one: stop the "
			"rttlink that owns it, or 'sudo ip link delete " LINK_DEVICE "' there");
	default:
		return err_sys(err, "make the TUN device " LINK_DEVICE);
	}
}

int
tun_open(int ns, enum end end, struct err *err)
{
	const char *mend;
	int fd, status;

	if (netns_enter(ns, err) < 0)
		return -1;
	fd = open(TUN_NODE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		mend = open_mend(errno);
		return mend ? unsupported("open " TUN_NODE, mend, err)
			    : err_sys(err, "open " TUN_NODE);
	}
	status = attach(fd, err);
	if (!status)
		status = end_configure(end, TUN_QUEUE, err);
	if (!status)
		return fd;
	close(fd);
	return status;
}
