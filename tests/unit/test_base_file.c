/* Whole files: what was there stays there until the new one is complete. */
#include "check.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "scratch.h"

/* How many entries a folder has. */
static int
entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = -2; /* . and .. */

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static void
check_content(const char *path, const char *expected)
{
	struct buf text = {0};
	struct err err = {0};

	CHECK_INT(file_read(path, 1 << 20, &text, &err), 0);
	CHECK_TEXT(err.text, "");
	CHECK_TEXT(buf_text(&text), expected);
	buf_free(&text);
}

static void
writes_and_reads(void)
{
	char *dir = scratch_make(), *path = alloc_printf("%s/x", dir);
	struct err err = {0};
	struct buf text = {0};

	CHECK_INT(file_write(path, "one", 3, &err), 0);
	check_content(path, "one");
	CHECK_INT(file_write(path, "", 0, &err), 0);
	check_content(path, "");
	CHECK_INT(file_write(path, "a\0b", 3, &err), 0);
	buf_puts(&text, "before ");
	CHECK_INT(file_read(path, 3, &text, &err), 0);
	CHECK_INT(text.len, 10);
	CHECK_INT(text.data[9], 'b');
	CHECK_INT(entries(dir), 1);
	buf_free(&text);
	free(path);
	scratch_remove(dir);
}

static void
read_errors(void)
{
	char *dir = scratch_make(), *path = alloc_printf("%s/x", dir), *expected;
	struct buf text = {0};
	struct err err = {0};

	expected = alloc_printf("open %s: No such file or directory", path);
	CHECK_INT(file_read(path, 10, &text, &err), -1);
	CHECK_TEXT(err.text, expected);
	free(expected);
	file_write(path, "12345", 5, &err);
	expected = alloc_printf("read %s: larger than 4 bytes", path);
	CHECK_INT(file_read(path, 4, &text, &err), -1);
	CHECK_TEXT(err.text, expected);
	free(expected);
	expected = alloc_printf("read %s: Is a directory", dir);
	CHECK_INT(file_read(dir, 10, &text, &err), -1);
	CHECK_TEXT(err.text, expected);
	free(expected);
	buf_free(&text);
	free(path);
	scratch_remove(dir);
}

static void
write_errors(void)
{
	char *dir = scratch_make(), *path = alloc_printf("%s/none/x", dir), *expected;
	struct err err = {0};

	expected = alloc_printf("write %s: No such file or directory", path);
	CHECK_INT(file_write(path, "x", 1, &err), -1);
	CHECK_TEXT(err.text, expected);
	free(expected);
	free(path);
	/* A folder is in the way of the rename: the temporary file must go. */
	path = alloc_printf("%s/folder", dir);
	mkdir(path, 0777);
	CHECK_INT(file_write(path, "x", 1, &err), -1);
	CU_ASSERT(strstr(err.text, ": Is a directory") != NULL);
	CHECK_INT(entries(dir), 1);
	free(path);
	scratch_remove(dir);
}

/* A write that fails half-way, as on a full disk, leaves the old file and no other. */
static void
failed_write_keeps_the_old(void)
{
	char *dir = scratch_make(), *path = alloc_printf("%s/x", dir);
	struct rlimit old, small;
	struct err err = {0};
	char big[10000];

	memset(big, 'x', sizeof(big));
	file_write(path, "old", 3, &err);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 4096;
	setrlimit(RLIMIT_FSIZE, &small);
	CHECK_INT(file_write(path, big, sizeof(big), &err), -1);
	setrlimit(RLIMIT_FSIZE, &old);
	CU_ASSERT(strstr(err.text, ": File too large") != NULL);
	check_content(path, "old");
	CHECK_INT(entries(dir), 1);
	free(path);
	scratch_remove(dir);
}

/* As nobody: root may write everywhere. */
static void
unwritable_folder(void)
{
	char *dir = scratch_make(), *path = alloc_printf("%s/x", dir);
	bool root = geteuid() == 0;
	struct err err = {0};

	file_write(path, "old", 3, &err);
	if (root) {
		chmod(dir, 0755);
		CHECK_INT(seteuid(65534), 0);
	} else {
		chmod(dir, 0555);
	}
	CHECK_INT(file_write(path, "new", 3, &err), -1);
	CU_ASSERT(strstr(err.text, ": Permission denied") != NULL);
	check_content(path, "old");
	if (root)
		CHECK_INT(seteuid(0), 0);
	chmod(dir, 0755);
	CHECK_INT(entries(dir), 1);
	free(path);
	scratch_remove(dir);
}

static void
makes_folders(void)
{
	char *dir = scratch_make(), *deep = alloc_printf("%s/a/b//c/", dir);
	char *file = alloc_printf("%s/file", dir), *under = alloc_printf("%s/file/x", dir);
	struct stat info;
	struct err err = {0};

	CHECK_INT(file_mkdirs(deep, &err), 0);
	CHECK_INT(file_mkdirs(deep, &err), 0);
	CHECK_INT(stat(deep, &info) == 0 && S_ISDIR(info.st_mode), true);
	CHECK_INT(file_mkdirs("", &err), 0);
	CHECK_INT(file_mkdirs("/", &err), 0);
	file_write(file, "x", 1, &err);
	CHECK_INT(file_mkdirs(file, &err), -1);
	CU_ASSERT(strstr(err.text, "create directory ") == err.text);
	CU_ASSERT(strstr(err.text, ": File exists") != NULL);
	CHECK_INT(file_mkdirs(under, &err), -1);
	free(deep);
	free(file);
	free(under);
	scratch_remove(dir);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"writes and reads", writes_and_reads},
		{"read errors", read_errors},
		{"write errors", write_errors},
		{"failed write keeps the old file", failed_write_keeps_the_old},
		{"unwritable folder", unwritable_folder},
		{"makes folders", makes_folders},
		CU_TEST_INFO_NULL,
	};

	return check_main("base file", tests);
}
