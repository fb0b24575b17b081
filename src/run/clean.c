/* rttmatrix clean: finds what a killed run left by the mark its processes carry.
 *
 * Every process of a run has RTTMATRIX_RUN=PID:STARTTIME in its environment, the runner's. They
 * die with their runner and their namespaces die with them, so normally there is nothing here
 * to find; this looks all the same. A process without the mark is never touched. */
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
#include "run/run.h"

#define MARK "RTTMATRIX_RUN"
#define ENVIRON_MAX ((size_t)4 << 20)

/* Field 22 of /proc/PID/stat: when it was started, in ticks since boot; 0 if it is gone. */
static unsigned long long
start_time(long pid)
{
	char *path = alloc_printf("/proc/%ld/stat", pid);
	struct buf text = {0};
	unsigned long long ticks = 0;
	char *at;

	if (file_read(path, 65536, &text, NULL) == 0 && (at = strrchr(text.data, ')'))) {
		for (int field = 2; field < 22 && at; field++) {
			at = strchr(at, ' ');
			at = at ? at + 1 : NULL;
		}
		if (at)
			ticks = strtoull(at, NULL, 10);
	}
	buf_free(&text);
	free(path);
	return ticks;
}

void
run_mark(void)
{
	char *mark = alloc_printf("%ld:%llu", (long)getpid(), start_time(getpid()));

	setenv(MARK, mark, 1);
	free(mark);
}

/* Does the runner that this environment names still live? An environment without a mark is
 * nobody's leftover: true. */
static bool
runner_lives(const struct buf *environment)
{
	const char *at = buf_text(environment), *end = at + environment->len;
	long pid;
	char *rest;

	for (; at < end; at += strlen(at) + 1) {
		if (strncmp(at, MARK "=", sizeof(MARK)))
			continue;
		pid = strtol(at + sizeof(MARK), &rest, 10);
		return *rest != ':' || start_time(pid) == strtoull(rest + 1, NULL, 10);
	}
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
	if (*dot != '.' || end == dot + 1 || start_time(pid))
		return 0;
	if (unlink(path) == 0)
		fprintf(clean_out, "removed %s\n", path);
	return 0;
}

int
run_clean(const char *output, FILE *out, struct err *err)
{
	if (clean_processes(out, err) < 0)
		return -1;
	clean_out = out;
	if (access(output, F_OK) == 0 && nftw(output, clean_file, 16, FTW_PHYS) < 0)
		return err_sys(err, "look through %s", output);
	return 0;
}
