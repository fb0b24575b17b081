/* Marks, and what is done with the engine's answers: with a script in the engine's place. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "run/engine.h"
#include "run/mark.h"
#include "scratch.h"

/* The mark of this process with another number in its first field. */
static char *
mark_of(long pid)
{
	char *own = mark_make(), *mark = alloc_printf("%ld%s", pid, strchr(own, ':'));

	free(own);
	return mark;
}

static void
test_marks(void)
{
	char *own = mark_make(), *dead = mark_of(1L << 30), *other = mark_of(1);
	char *elsewhere = alloc_printf("%s-b", own);

	CHECK_INT(mark_state(own), MARK_LIVES);
	CHECK_INT(mark_state(dead), MARK_DEAD);
	CHECK_INT(mark_state(other), MARK_DEAD); /* that number is another process's now */
	CHECK_INT(mark_state(elsewhere), MARK_ELSEWHERE);
	CHECK_INT(mark_state(""), MARK_ELSEWHERE);
	CHECK_INT(mark_state("build"), MARK_ELSEWHERE);
	CHECK_INT(mark_state("1"), MARK_ELSEWHERE);
	CHECK_INT(mark_state("-1:2:3:host"), MARK_ELSEWHERE);
	free(own);
	free(dead);
	free(other);
	free(elsewhere);
}

static void
check_reason(const char *text, const char *expected)
{
	struct buf said = {0};
	char *reason;

	buf_puts(&said, text);
	reason = engine_reason(&said);
	CHECK_TEXT(reason, expected);
	free(reason);
	buf_free(&said);
}

static void
test_reason(void)
{
	check_reason("docker: no such image: x.\nSee 'docker run --help'.\n",
		"docker: no such image: x.");
	check_reason("docker: busy.\n\nRun 'docker run --help' for more information\n",
		"docker: busy.");
	check_reason("probe-x: connection refused\n", "probe-x: connection refused");
	check_reason("", "");
}

/* An engine that lists what stands in FOLDER/list and notes what it is told to remove. */
static char *
fake_engine(const char *folder, const char *list)
{
	char *path = alloc_printf("%s/engine", folder), *data = alloc_printf("%s/list", folder);
	char *text = alloc_printf("#!/bin/sh\n"
				  "case $1 in\n"
				  "ps) cat %s/list ;;\n"
				  "rm) shift 3; echo \"$@\" >>%s/removed ;;\n"
				  "broken) echo words >&2; echo \"see --help\" >&2; exit 3 ;;\n"
				  "esac\n",
		folder, folder);

	CHECK_INT(file_write(data, list, strlen(list), NULL), 0);
	CHECK_INT(file_write(path, text, strlen(text), NULL), 0);
	CHECK_INT(chmod(path, 0755), 0);
	setenv("DOCKER", path, 1);
	free(text);
	free(data);
	return path;
}

/* What was removed since the last call. */
static void
check_removed(const char *folder, const char *expected)
{
	char *path = alloc_printf("%s/removed", folder);
	struct buf text = {0};

	file_read(path, 65536, &text, NULL);
	CHECK_TEXT(buf_text(&text), expected);
	remove(path);
	buf_free(&text);
	free(path);
}

static void
test_sweep(void)
{
	char *folder = scratch_make(), *own = mark_make(), *dead = mark_of(1L << 30);
	char *list = alloc_printf("a %s\nb %s\nc build\nd\ne %s\n", own, dead, dead), *path;
	struct err err;

	path = fake_engine(folder, list);
	CHECK_INT(engine_sweep(NULL, NULL, &err), 0);
	check_removed(
		folder, "b\ne\n"); /* not what lives, what it cannot judge, nor unmarked */
	CHECK_INT(engine_sweep(own, NULL, &err), 0);
	check_removed(folder, "a\n");
	CHECK_INT(engine_sweep("none", NULL, &err), 0);
	check_removed(folder, "");

	setenv("DOCKER", "/nonexistent/engine", 1);
	CHECK_INT(engine_sweep(NULL, NULL, &err), -1);
	unsetenv("DOCKER");
	free(path);
	free(list);
	free(dead);
	free(own);
	scratch_remove(folder);
}

static void
test_run(void)
{
	const char *const broken[] = {"broken", NULL}, *const fine[] = {"ps", NULL};
	char *folder = scratch_make(), *path = fake_engine(folder, "one\n");
	struct buf out = {0};
	struct err err;

	CHECK_TEXT(engine_program(), path);
	CHECK_INT(engine_run(fine, &out, &err), 0);
	CHECK_TEXT(buf_text(&out), "one\n");
	errno = ENOENT; /* of something before: this one is there */
	CHECK_INT(engine_run(broken, NULL, &err), -1);
	CHECK_INT(errno, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "engine broken: words"));
	unsetenv("DOCKER");
	CHECK_TEXT(engine_program(), "docker");
	buf_free(&out);
	free(path);
	scratch_remove(folder);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"marks", test_marks},
		{"reason", test_reason},
		{"sweep", test_sweep},
		{"run", test_run},
		CU_TEST_INFO_NULL,
	};

	return check_main("engine", tests);
}
