/* Reading and atomically replacing whole files. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

int
file_read(const char *path, size_t max, struct buf *out, struct err *err)
{
	size_t start = out->len;
	int status = -1;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "open %s", path);
	do {
		got = read(fd, buf_reserve(out, 65536), 65536);
		if (got < 0) {
			err_sys(err, "read %s", path);
			goto out;
		}
		out->len += (size_t)got;
		if (out->len - start > max) {
			err_set(err, "read %s: larger than %zu bytes", path, max);
			goto out;
		}
	} while (got > 0);
	out->data[out->len] = '\0';
	status = 0;
out:
	close(fd);
	return status;
}

static bool
write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t put = write(fd, bytes, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		bytes += put;
		len -= (size_t)put;
	}
	return true;
}

int
file_write(const char *path, const void *bytes, size_t len, struct err *err)
{
	char *temporary = alloc_printf("%s.%ld.tmp", path, (long)getpid());
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int status = -1;

	if (fd < 0) {
		err_sys(err, "write %s", path);
		goto out;
	}
	if (!write_all(fd, bytes, len) || fsync(fd) < 0)
		err_sys(err, "write %s", path);
	else
		status = 0;
	if (close(fd) < 0 && !status)
		status = err_sys(err, "write %s", path);
	if (!status && rename(temporary, path) < 0)
		status = err_sys(err, "rename %s to %s", temporary, path);
	if (status)
		unlink(temporary);
out:
	free(temporary);
	return status;
}

static bool
is_folder(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

int
file_mkdirs(const char *path, struct err *err)
{
	char *partial = alloc_text(*path ? path : ".");
	int status = 0;

	for (char *at = partial + 1; !status; at++) {
		char end = *at;

		if (end && end != '/')
			continue;
		*at = '\0';
		if (mkdir(partial, 0777) < 0 && (errno != EEXIST || !is_folder(partial)))
			status = err_sys(err, "create directory %s", path);
		if (!end)
			break;
		*at = end;
	}
	free(partial);
	return status;
}
