/* Feeds bytes to both readers of YAML, profile and matrix: no crash, no leak, no endless loop,
 * and every refusal says where. Built with -fsanitize=fuzzer it explores; without, it replays
 * the files and folders it is given. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "conf/doc.h"
#include "link/profile.h"
#include "run/matrix.h"
#include "replay.h"

#define PROFILES "netem" /* the repository's own, when started in its root */

static const char describe[] = "option wait choice block|spin block -\n"
			       "option size size 1b..1mib 64b -\n"
			       "option mode choice on|off on -\n"
			       "metric connect ns -\n"
			       "metric sent bytes -\n"
			       "metric connections count -\n";

REPLAY_MAIN("fuzz_matrix", 4 * CONF_BYTES_MAX)

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
