/* Feeds bytes to both readers of YAML, profile and matrix: no crash, no leak, no endless loop,
 * and every refusal says where. Built with -fsanitize=fuzzer it explores; without, it replays
 * the files and folders it is given. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "conf/doc.h"
#include "link/profile.h"
#include "run/matrix.h"

#define PROFILES "netem" /* the repository's own, when started in its root */

static const char describe[] = "option wait choice block|spin block -\n"
			       "option size size 1b..1mib 64b -\n"
			       "option mode choice on|off on -\n"
			       "metric connect ns -\n"
			       "metric sent bytes -\n"
			       "metric connections count -\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct catalogue *
catalogue(void)
{
	static struct catalogue catalogue;
	struct err err;

	if (catalogue.count)
		return &catalogue;
	catalogue.probes = alloc_zero(2, sizeof(*catalogue.probes));
	catalogue.count = 2;
	if (catalogue_parse("handshake", describe, &catalogue.probes[0], &err) < 0 ||
		catalogue_parse("keepalive", describe, &catalogue.probes[1], &err) < 0)
		abort();
	return &catalogue;
}

/* A refusal starts with the file's or a profile's name, a line and a column. */
static void
check_message(const struct err *err)
{
	const char *colon = strchr(err->text, ':');
	int line, column;

	if (!colon || sscanf(colon, ":%d:%d: ", &line, &column) != 2 || line < 1 ||
		column < 1) {
		fprintf(stderr, "no position: %s\n", err->text);
		abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = alloc_zero(size + 1, 1);
	struct err err = {""};
	struct profile profile;
	struct matrix matrix;

	memcpy(text, data, size);
	if (profile_parse("f", text, size, &profile, &err) == 0)
		profile_free(&profile);
	else
		check_message(&err);
	if (matrix_parse("f", text, size, PROFILES, catalogue(), &matrix, &err) == 0)
		matrix_free(&matrix);
	else
		check_message(&err);
	free(text);
	return 0;
}

static int passed, failed;

static void
replay_file(const char *path)
{
	struct buf bytes = {0};
	struct err err;
	int64_t start = clock_now();

	if (file_read(path, 4 * CONF_BYTES_MAX, &bytes, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		failed++;
		goto out;
	}
	LLVMFuzzerTestOneInput((const uint8_t *)buf_text(&bytes), bytes.len);
	if (clock_now() - start < NS_PER_S) {
		passed++;
		goto out;
	}
	fprintf(stderr, "%s: took over a second\n", path);
	failed++;
out:
	buf_free(&bytes);
}

/* A file, or everything in a folder; `depth` bounds what a loop of links could do. */
static void
replay(const char *path, int depth)
{
	struct dirent **entries = NULL;
	struct stat status;
	int count;

	if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode)) {
		replay_file(path);
		return;
	}
	count = depth > 0 ? scandir(path, &entries, NULL, alphasort) : 0;
	for (int i = 0; i < count; i++) {
		char *below = alloc_printf("%s/%s", path, entries[i]->d_name);

		if (entries[i]->d_name[0] != '.')
			replay(below, depth - 1);
		free(below);
		free(entries[i]);
	}
	free(entries);
}

/* Weak: libFuzzer brings its own main() and wins. */
__attribute__((weak)) int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i], 4);
	printf("fuzz_matrix: %d passed, %d failed\n", passed, failed);
	return failed != 0 || passed == 0;
}
