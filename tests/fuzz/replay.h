/* The main() of a fuzz driver that is not built with libFuzzer: it replays files and folders.
 */
#ifndef TESTS_FUZZ_REPLAY_H
#define TESTS_FUZZ_REPLAY_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_passed, replay_failed;

static inline void
replay_file(const char *path, size_t bytes_max)
{
	struct buf bytes = {0};
	struct err err;
	int64_t start = clock_now();

	if (file_read(path, bytes_max, &bytes, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		replay_failed++;
		goto out;
	}
	LLVMFuzzerTestOneInput((const uint8_t *)buf_text(&bytes), bytes.len);
	if (clock_now() - start < NS_PER_S) {
		replay_passed++;
		goto out;
	}
	fprintf(stderr, "%s: took over a second\n", path);
	replay_failed++;
out:
	buf_free(&bytes);
}

/* A file, or everything in a folder; `depth` bounds what a loop of links could do. */
static inline void
replay(const char *path, size_t bytes_max, int depth)
{
	struct dirent **entries = NULL;
	struct stat status;
	int count;

	if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode)) {
		replay_file(path, bytes_max);
		return;
	}
	count = depth > 0 ? scandir(path, &entries, NULL, alphasort) : 0;
	for (int i = 0; i < count; i++) {
		char *below = alloc_printf("%s/%s", path, entries[i]->d_name);

		if (entries[i]->d_name[0] != '.')
			replay(below, bytes_max, depth - 1);
		free(below);
		free(entries[i]);
	}
	free(entries);
}

/* Weak: libFuzzer brings its own main() and wins. */
#define REPLAY_MAIN(name, bytes_max)                                                           \
	__attribute__((weak)) int main(int argc, char **argv)                                  \
	{                                                                                      \
		for (int i = 1; i < argc; i++)                                                 \
			replay(argv[i], bytes_max, 4);                                         \
		printf(name ": %d passed, %d failed\n", replay_passed, replay_failed);         \
		return replay_failed != 0 || replay_passed == 0;                               \
	}

#endif
