/* Feeds bytes to the readers of profiles and of traces: no crash, no leak, no endless loop, and
 * every refusal says where. What is taken is then done to packets: each has one fate and
 * leaves no sooner than it came. A profile in front of a line "---trace" replays what is behind
 * it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "conf/doc.h"
#include "link/fates.h"
#include "link/profile.h"
#include "link/trace.h"
#include "replay.h"

#define PACKETS 300 /* each way */
#define SEPARATOR "---trace\n"

REPLAY_MAIN("fuzz_profile", 4 * CONF_BYTES_MAX)

static void
fault(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

struct tally {
	int64_t originals[DIRECTIONS], copies[DIRECTIONS];
};

static void
take(void *context, const struct fate *fate)
{
	struct tally *tally = context;

	if (fate->delay_ns < 0)
		fault("a packet left before it came");
	if (fate->marks & PACKET_COPY)
		tally->copies[fate->direction]++;
	else
		tally->originals[fate->direction]++;
}

static void
carry(const struct profile *profile, int64_t interval_ns)
{
	const struct fates_plan plan = {
		.profile = profile,
		.seed = 1,
		.count = PACKETS,
		.interval_ns = interval_ns,
		.len = 1500,
	};
	struct tally tally = {{0}, {0}};

	fates_each(&plan, take, &tally);
	for (enum direction i = UP; i < DIRECTIONS; i++)
		if (tally.originals[i] != PACKETS || tally.copies[i] > PACKETS)
			fault("a packet has no fate, or several");
}

/* Every state of the link is held to what its struct promises. */
static void
check_path(const struct impairment *path)
{
	if (path->delay_ns < 0 || path->jitter_ns < 0 || path->jitter_ns > path->delay_ns)
		fault("delay and jitter");
	if (path->loss_ppm < 0 || path->loss_ppm > 1000000)
		fault("a share that is none");
	if (impairment_missing_ppm(path) > 1000000 || impairment_limit(path) < 1 ||
		impairment_wait_ns(path, 1500) < 0)
		fault("what follows from the path");
}

static void
use(struct profile *profile, const struct trace *trace)
{
	for (enum direction i = UP; i < DIRECTIONS && trace; i++)
		if (!profile->path[i].rate_bps)
			profile->path[i].trace = trace;
	for (enum direction i = UP; i < DIRECTIONS; i++) {
		check_path(&profile->path[i]);
		for (size_t k = 0; k < profile->change_count; k++)
			check_path(&profile->changes[k].path[i]);
	}
	carry(profile, 0);
	carry(profile, 7 * NS_PER_MS);
	carry(profile, NS_PER_S);
}

/* A refusal starts with the file's name, a line and, in a profile, a column. */
static void
check_message(const char *format, const struct err *err)
{
	int line = 0, column = 1;

	if (sscanf(err->text, format, &line, &column) < 1 || line < 1 || column < 1)
		fault(err->text);
	for (const char *at = err->text; *at; at++)
		if ((unsigned char)*at < ' ')
			fault("control characters in a message");
}

static struct trace *
read_trace(const char *bytes, size_t size)
{
	char *copy = alloc_zero(size + 1, 1);
	struct err err = {""};
	struct trace *trace;

	memcpy(copy, bytes, size);
	trace = trace_parse("t", copy, size, &err);
	if (!trace && strncmp(err.text, "t: expected a delivery", 22) != 0)
		check_message("t:%d: ", &err);
	free(copy);
	return trace;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = alloc_zero(size + 1, 1), *behind;
	struct trace *trace = NULL;
	struct profile profile;
	struct err err = {""};

	memcpy(text, data, size);
	behind = strstr(text, SEPARATOR);
	if (behind) {
		char *start = behind + strlen(SEPARATOR);

		trace = read_trace(start, size - (size_t)(start - text));
		size = (size_t)(behind - text);
		*behind = '\0';
	}
	if (profile_parse("f", text, size, &profile, &err) < 0) {
		check_message("f:%d:%d: ", &err);
	} else {
		if (!profile.loopback)
			use(&profile, trace);
		profile_free(&profile);
	}
	trace_free(trace);
	free(text);
	return 0;
}
