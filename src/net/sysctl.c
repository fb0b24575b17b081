/* One number a file. */
#include "net/sysctl.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"

#define PATH_SIZE 128
#define ANCESTORS 64
#define FIRST_USER_NS 0xeffffffdU /* include/linux/proc_ns.h, PROC_USER_INIT_INO */

static int
open_setting(const char *path, int flags, struct err *err)
{
	char full[PATH_SIZE];
	int fd;

	snprintf(full, sizeof(full), "/proc/sys/%s", path);
	fd = open(full, flags | O_CLOEXEC);
	return fd < 0 ? err_sys(err, "open %s", full) : fd;
}

int
sysctl_read(const char *path, int64_t *value, struct err *err)
{
	char text[32] = "";
	int fd = open_setting(path, O_RDONLY, err);
	ssize_t got;

	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got < 0)
		return err_sys(err, "read %s", path);
	text[strcspn(text, "\n")] = '\0';
	return units_parse_count(text, value, err) < 0 ? err_prefix(err, "%s", path) : 0;
}

static ino_t
namespace_of(long pid, const char *kind)
{
	char path[PATH_SIZE];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%ld/ns/%s", pid, kind);
	return stat(path, &status) < 0 ? 0 : status.st_ino;
}

/* Was it made in a user namespace, ours, which is not the machine's? */
static bool
made_by_user(void)
{
	ino_t ours = namespace_of((long)getpid(), "user");
	struct stat owner;
	int net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), user;
	bool same;

	if (net < 0)
		return false;
	user = ioctl(net, NS_GET_USERNS);
	close(net);
	if (user < 0)
		return false;
	same = fstat(user, &owner) == 0 && owner.st_ino == ours && ours != FIRST_USER_NS;
	close(user);
	return same;
}

static long
parent_of(long pid)
{
	char path[PATH_SIZE], line[512];
	FILE *file;
	long parent = 0;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	/* "PID (NAME) STATE PARENT …", and a name may hold anything. */
	if (fgets(line, sizeof(line), file) && strrchr(line, ')'))
		sscanf(strrchr(line, ')'), ") %*c %ld", &parent);
	fclose(file);
	return parent;
}

/* Has somebody who started us, however far back, another network namespace? */
static bool
entered(void)
{
	ino_t ours = namespace_of((long)getpid(), "net"), theirs;
	long pid = (long)getppid();

	for (int i = 0; i < ANCESTORS && ours && pid > 0; i++) {
		theirs = namespace_of(pid, "net");
		if (theirs && theirs != ours)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

int
sysctl_write(const char *path, int64_t value, struct err *err)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%lld\n", (long long)value);
	int fd, status = 0;

	if (!made_by_user() && !entered())
		return err_set(err, "%s is the machine's here, and is left alone", path);
	fd = open_setting(path, O_WRONLY, err);
	if (fd < 0)
		return -1;
	if (write(fd, text, (size_t)len) != len)
		status = err_sys(err, "set %s to %lld", path, (long long)value);
	close(fd);
	return status;
}
