/* Reads and writes /proc/sys/net/ipv4/tcp_tw_reuse, which every network namespace has its own
 * of. */
#include "net/tw_reuse.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define PATH "/proc/sys/net/ipv4/tcp_tw_reuse"

/* Where the first process cannot be looked at, we are not root on the machine and could not set
 * its sysctls either. */
static bool
is_first_namespace(void)
{
	struct stat own, first;

	return stat("/proc/self/ns/net", &own) == 0 && stat("/proc/1/ns/net", &first) == 0 &&
	       own.st_ino == first.st_ino && own.st_dev == first.st_dev;
}

int
tw_reuse_set(int value, struct err *err)
{
	char digit = (char)('0' + value);
	ssize_t wrote;
	int fd;

	if (is_first_namespace())
		return err_set(
			err, "set tcp_tw_reuse: this network namespace is not ours alone");
	fd = open(PATH, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "open %s", PATH);
	wrote = write(fd, &digit, 1);
	if (wrote < 0)
		err_sys(err, "write %s", PATH);
	close(fd);
	return wrote == 1 ? 0 : -1;
}

int
tw_reuse_get(int *value, struct err *err)
{
	struct buf text = {0};
	int status = file_read(PATH, 64, &text, err);

	if (status == 0)
		*value = atoi(buf_text(&text));
	buf_free(&text);
	return status;
}
