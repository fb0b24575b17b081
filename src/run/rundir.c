/* Makes run directories. */
#include "run/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

#define NAMES_MAX 100 /* runs of one matrix started within one second */

const char *
rundir_name(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return slash ? slash + 1 : dir;
}

/* The first free name; NULL with the reason. */
static char *
make_unique(const char *output, const char *matrix, struct err *err)
{
	time_t now = time(NULL);
	char stamp[32];
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	for (int i = 1; i <= NAMES_MAX; i++) {
		char *path = i == 1 ? alloc_printf("%s/%s-%s", output, stamp, matrix)
				    : alloc_printf("%s/%s-%s-%d", output, stamp, matrix, i);

		if (mkdir(path, 0777) == 0)
			return path;
		if (errno != EEXIST || i == NAMES_MAX) {
			err_sys(err, "create directory %s", path);
			free(path);
			return NULL;
		}
		free(path);
	}
	return NULL;
}

/* Beside its profile. All profiles come from one folder, so what two name alike is one file. */
static int
copy_trace(const char *folder, const struct profile *profile, struct err *err)
{
	char *path = alloc_printf("%s/%s", folder, profile->trace_name);
	int status;

	status = file_write(path, profile->trace_text, strlen(profile->trace_text), err);
	free(path);
	return status;
}

static int
copy_profile(const char *folder, struct matrix *matrix, size_t which, struct err *err)
{
	struct profile *profile = &matrix->profiles[which];
	char *path = alloc_printf("%s/%s.yaml", folder, profile->name);

	if (file_write(path, profile->text, strlen(profile->text), err) < 0 ||
		(profile->trace && copy_trace(folder, profile, err) < 0)) {
		free(path);
		return -1;
	}
	free(profile->file);
	profile->file = path;
	return 0;
}

/* The inputs as they are now, and a folder for the records. */
static int
prepare(const char *dir, struct matrix *matrix, struct err *err)
{
	char *path = alloc_printf("%s/matrix.yaml", dir);
	char *folder = alloc_printf("%s/netem", dir);
	char *cells = alloc_printf("%s/cells", dir);
	int status = file_write(path, matrix->text, strlen(matrix->text), err);

	if (status == 0)
		status = file_mkdirs(folder, err);
	if (status == 0)
		status = file_mkdirs(cells, err);
	for (size_t i = 0; status == 0 && i < matrix->profile_count; i++)
		status = copy_profile(folder, matrix, i, err);
	free(cells);
	free(folder);
	free(path);
	return status;
}

char *
rundir_create(const char *output, struct matrix *matrix, struct err *err)
{
	char *absolute, *dir;

	if (file_mkdirs(output, err) < 0)
		return NULL;
	absolute = realpath(output, NULL);
	if (!absolute) {
		err_sys(err, "results directory %s", output);
		return NULL;
	}
	dir = make_unique(absolute, matrix->name, err);
	free(absolute);
	if (dir && prepare(dir, matrix, err) < 0) {
		free(dir);
		return NULL;
	}
	return dir;
}

int
rundir_lock(const char *dir, struct err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "open %s", dir);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (errno == EWOULDBLOCK)
		err_set(err, "%s: this run is under way", dir);
	else
		err_sys(err, "lock %s", dir);
	close(fd);
	return -1;
}

int
rundir_set_latest(const char *output, const char *dir, struct err *err)
{
	char *link = alloc_printf("%s/latest", output);
	char *temporary = alloc_printf("%s/.latest.%ld", output, (long)getpid());
	int status = 0;

	unlink(temporary);
	if (symlink(rundir_name(dir), temporary) < 0 || rename(temporary, link) < 0) {
		status = err_sys(err, "point %s at %s", link, rundir_name(dir));
		unlink(temporary);
	}
	free(temporary);
	free(link);
	return status;
}
