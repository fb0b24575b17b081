/* Makes and enters network namespaces, with or without root. */
#include "base/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the namespace we are in now. */
static int
loopback_up(struct err *err)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int status = 0;

	if (fd < 0)
		return err_sys(err, "open a socket in a new network namespace");
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		status = err_sys(err, "bring up lo in a new network namespace");
	close(fd);
	return status;
}

int
netns_new(struct err *err)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int fd = -1;

	if (home < 0)
		return err_sys(err, "open /proc/self/ns/net");
	if (unshare(CLONE_NEWNET) < 0) {
		err_sys(err,
			errno == ENOSPC
				? "make a network namespace (sysctl user.max_net_namespaces)"
				: "make a network namespace");
		close(home);
		return -1;
	}
	if (loopback_up(err) == 0) {
		fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			err_sys(err, "open the new network namespace");
	}
	if (setns(home, CLONE_NEWNET) <
		0) { /* measuring in the wrong place is worse than dying */
		perror("return to the first network namespace");
		abort();
	}
	close(home);
	return fd;
}

int
netns_open(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_sys(err, "open network namespace %s", path) : fd;
}

/* Is it the one we are in? */
static bool
is_present(int ns)
{
	struct stat here, there;

	return stat("/proc/self/ns/net", &here) == 0 && fstat(ns, &there) == 0 &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

int
netns_enter(int ns, struct err *err)
{
	if (is_present(ns))
		return 0;
	return setns(ns, CLONE_NEWNET) < 0 ? err_sys(err, "enter network namespace") : 0;
}

/* Does the network namespace we are in belong to our user namespace, or one within it? Only
 * there may we return, or make devices. */
static bool
present_is_ours(struct err *err)
{
	int ns = netns_open("/proc/self/ns/net", err);
	int owner = ns < 0 ? -1 : ioctl(ns, NS_GET_USERNS);
	bool ours = owner >= 0 || (ns >= 0 && errno != EPERM);

	if (ns >= 0 && !ours)
		err_set(err, "the present one belongs to another user namespace");
	if (owner >= 0)
		close(owner);
	if (ns >= 0)
		close(ns);
	return ours;
}

/* Can this process make network namespaces as it is? */
static bool
allowed(struct err *err)
{
	int fd = present_is_ours(err) ? netns_new(err) : -1;

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static int
write_proc(const char *path, const char *text, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t len = (ssize_t)strlen(text);
	int status = 0;

	if (fd < 0 || write(fd, text, (size_t)len) != len)
		status = err_sys(err, "write %s", path);
	if (fd >= 0)
		close(fd);
	return status;
}

static int
enter_user(struct err *err)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	/* The network namespace we came from is not ours to return to: have one that is. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return err_sys(err, "make a user namespace");
	if (write_proc("/proc/self/setgroups", "deny", err) < 0)
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (write_proc("/proc/self/uid_map", map, err) < 0)
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_proc("/proc/self/gid_map", map, err);
}

int
netns_prepare(bool *entered, struct err *err)
{
	struct err plain, user;

	*entered = false;
	if (allowed(&plain))
		return 0;
	*entered = true;
	if (enter_user(&user) == 0 && allowed(&user))
		return 0;
	return err_set(err,
		"no network namespaces: %s; nor in a user namespace: %s. To mend: run as root, or "
		"`sudo sysctl -w user.max_user_namespaces=15000` and, where AppArmor forbids them, "
		"`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
		plain.text, user.text);
}
