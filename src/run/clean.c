/* rttmatrix clean: finds what a killed run left by the mark it carries (mark.h).
 *
 * Processes of a run have it in their environment. They die with their runner and their
 * namespaces die with them, so normally there is nothing here to find; this looks all the same.
 * Containers and volumes have it as a label; a sweeper removes them when their runner dies, and
 * this does when the sweeper was killed too. What is not marked is never touched. */
#include <ctype.h>
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "run/engine.h"
#include "run/mark.h"
#include "run/run.h"

#define ENVIRON_MAX ((size_t)4 << 20)

/* Does the runner that this environment names still live? An environment without a mark is
 * nobody's leftover: true. */
static bool
runner_lives(const struct buf *environment)
{
	const char *at = buf_text(environment), *end = at + environment->len;

	for (; at < end; at += strlen(at) + 1)
		if (!strncmp(at, MARK_NAME "=", sizeof(MARK_NAME)))
			return mark_state(at + sizeof(MARK_NAME)) != MARK_DEAD;
	return true;
}

static void
clean_process(long pid, FILE *out)
{
	char *path = alloc_printf("/proc/%ld/environ", pid);
	struct buf environment = {0};

	if (file_read(path, ENVIRON_MAX, &environment, NULL) == 0 &&
		!runner_lives(&environment) && kill((pid_t)pid, SIGKILL) == 0)
		fprintf(out, "killed process %ld of a run that is gone\n", pid);
	buf_free(&environment);
	free(path);
}

static int
clean_processes(FILE *out, struct err *err)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		return err_sys(err, "open /proc");
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			clean_process(strtol(entry->d_name, NULL, 10), out);
	closedir(proc);
	return 0;
}

static FILE *clean_out; /* nftw() has no way to hand something on */

/* NAME.PID.tmp, as file_write() names what it has not finished, of a process that is gone. */
static int
clean_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t len = strlen(path);
	const char *dot;
	char *end;
	long pid;

	(void)st;
	(void)ftw;
	if (type != FTW_F || len < 5 || strcmp(path + len - 4, ".tmp"))
		return 0;
	for (dot = path + len - 5; dot > path && isdigit((unsigned char)*dot); dot--)
		;
	pid = strtol(dot + 1, &end, 10);
	if (*dot != '.' || end == dot + 1 || mark_start_time(pid))
		return 0;
	if (unlink(path) == 0)
		fprintf(clean_out, "removed %s\n", path);
	return 0;
}

int
run_clean(const char *output, FILE *out, struct err *err)
{
	struct err none;

	if (clean_processes(out, err) < 0)
		return -1;
	engine_sweep(NULL, out, &none); /* without an engine there is nothing of it either */
	clean_out = out;
	if (access(output, F_OK) == 0 && nftw(output, clean_file, 16, FTW_PHYS) < 0)
		return err_sys(err, "look through %s", output);
	return 0;
}
