/* Entering network namespaces. */
#include "link/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int
netns_open(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_sys(err, "open network namespace %s", path) : fd;
}

int
netns_enter(int ns, struct err *err)
{
	return setns(ns, CLONE_NEWNET) < 0 ? err_sys(err, "enter network namespace") : 0;
}

static int
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), status = -1;

	if (fd >= 0 && dprintf(fd, "%s", text) > 0)
		status = 0;
	if (fd >= 0)
		close(fd);
	return status;
}

/* A user namespace in which this process is root and can do as it likes with the network. */
static int
become_root(struct err *err)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[2][32];

	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(err, "make a user namespace");
	snprintf(map[0], sizeof(map[0]), "0 %u 1", uid);
	snprintf(map[1], sizeof(map[1]), "0 %u 1", gid);
	if (write_text("/proc/self/setgroups", "deny") < 0 ||
		write_text("/proc/self/uid_map", map[0]) < 0 ||
		write_text("/proc/self/gid_map", map[1]) < 0)
		return err_sys(err, "map root in a user namespace");
	return 0;
}

int
netns_scratch(struct err *err)
{
	if (unshare(CLONE_NEWNET) == 0)
		return netns_open("/proc/self/ns/net", err);
	if (errno != EPERM)
		return err_sys(err, "make a network namespace");
	if (become_root(err) < 0)
		return -1;
	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(err, "make a network namespace");
	return netns_open("/proc/self/ns/net", err);
}
