/* Opening /dev/net/tun (the kernel's Documentation/networking/tuntap.rst). */
#include "link/tun.h"

#include <errno.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "link/backend.h"

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
attach(int fd, const char *device, enum tun_kind kind, struct err *err)
{
	struct ifreq request = {0};

	memcpy(request.ifr_name, device, strlen(device));
	request.ifr_flags = IFF_NO_PI | (kind == TUN_FRAMES ? IFF_TAP : IFF_TUN);
	if (ioctl(fd, TUNSETIFF, &request) == 0)
		return 0;
	switch (errno) {
	case EPERM:
		return unsupported("make a TUN device",
			"no CAP_NET_ADMIN in this namespace: run as root, or under 'unshare "
			"-Urn'",
			err);
	case EBUSY:
		return err_set(err,
			"make the TUN device %s: this namespace has one: stop the rttlink that "
			"owns it, or 'sudo ip link delete %s' there",
			device, device);
	default:
		return err_sys(err, "make the TUN device %s", device);
	}
}

int
tun_open(const struct space *space, int rtnl, const struct end_address *end, enum tun_kind kind,
	struct err *err)
{
	int fd = space_open_tun(space, err), status;

	if (fd < 0) {
		const char *mend = open_mend(errno);

		return mend ? unsupported("open " TUN_NODE, mend, err) : -1;
	}
	status = attach(fd, end->device, kind, err);
	if (!status)
		status = end_configure(rtnl, end, TUN_QUEUE, err);
	if (!status)
		return fd;
	close(fd);
	return status;
}
