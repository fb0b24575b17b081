/* A folder for a test's files, gone afterwards. */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

/* A new folder; give it to scratch_remove(). */
static inline char *
scratch_make(void)
{
	const char *parent = getenv("TMPDIR");
	char *path = alloc_printf("%s/rttmatrix-test-XXXXXX", parent ? parent : "/tmp");

	if (!mkdtemp(path)) {
		perror(path);
		exit(1);
	}
	return path;
}

static inline int
scratch_unlink(const char *path, const struct stat *info, int type, struct FTW *walk)
{
	(void)info;
	(void)type;
	(void)walk;
	return remove(path);
}

/* Remove the folder with all that is in it, and free its name. */
static inline void
scratch_remove(char *path)
{
	nftw(path, scratch_unlink, 16, FTW_DEPTH | FTW_PHYS);
	free(path);
}

/* Put `text` into the file `folder`/`name`, making folders as needed. */
static inline void
scratch_write(const char *folder, const char *name, const char *text)
{
	char *path = alloc_printf("%s/%s", folder, name);
	char *slash = strrchr(path, '/');
	struct err err;

	*slash = '\0';
	if (file_mkdirs(path, &err) == 0) {
		*slash = '/';
		if (file_write(path, text, strlen(text), &err) == 0) {
			free(path);
			return;
		}
	}
	fprintf(stderr, "%s\n", err.text);
	exit(1);
}

#endif
