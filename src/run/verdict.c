/* Believes a measurement only after looking at it. */
#include "run/verdict.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "run/tally.h"
#include "stat/record.h"

#define ECHO_BITS (100 * 8) /* an echo on the wire, with its headers */

/* Between two cases, a factor of two from the second. With four busy loops on two cores the
 * longest stall of a link was 6 ms in the median without SCHED_FIFO, below 20 ms on 50 links of
 * 52 (17 ms at most with it), and medians stayed right. A stop of 50 ms has to be found, and is
 * seen as 40 at least: the rest may pass for sleep. */
#define STALL_MAX_NS INT64_C(20000000)

static int
read_half(const struct buf *output, const char *half, struct tally *tally, struct err *err)
{
	if (tally_read(tally, output, err) < 0)
		return err_prefix(err, "the %s's output", half);
	return 0;
}

int
verdict_records(const struct buf *client, const struct buf *server, struct err *err)
{
	struct tally ran = {0}, served = {0};
	int status = -1;

	if (read_half(client, "client", &ran, err) < 0 ||
		read_half(server, "server", &served, err) < 0)
		goto out;
	if (tally_measured(&ran, NULL) < 0)
		err_set(err, "the client printed no measurement");
	else
		status = tally_apart(&ran, &served, err);
out:
	tally_free(&ran);
	tally_free(&served);
	return status;
}

int64_t
verdict_tolerance_ns(const struct profile *profile)
{
	int64_t tolerance = profile_rtt_ns(profile) / 50;

	if (tolerance < 150 * 1000)
		tolerance = 150 * 1000;
	for (int i = 0; i < DIRECTIONS; i++) {
		const struct impairment *path = &profile->path[i];

		tolerance += path->jitter_ns / 2;
		if (path->rate_bps)
			tolerance += ECHO_BITS * INT64_C(1000000000) / path->rate_bps;
	}
	return tolerance;
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The values of one metric. */
struct values {
	const char *name;
	int64_t *items;
	size_t count, cap;
};

static int
take_value(const struct record *record, void *context, struct err *err)
{
	struct values *values = context;

	(void)err;
	if (record->kind > RECORD_COUNT || strcmp(record->name, values->name))
		return 0;
	values->items = alloc_grow(
		values->items, values->count, &values->cap, sizeof(*values->items));
	values->items[values->count++] = record->value;
	return 0;
}

/* The median of the samples (or the value of the count) called `name`; 0 if there is none. */
static int64_t
median_of(const struct buf *output, const char *name)
{
	struct values values = {.name = name};
	int64_t median = 0;

	record_each(buf_text(output), output->len, take_value, &values, NULL);
	if (values.count) {
		qsort(values.items, values.count, sizeof(*values.items), compare);
		median = values.items[(values.count - 1) / 2];
	}
	free(values.items);
	return median;
}

int
verdict_echo(const struct buf *check, const struct profile *profile, struct err *err)
{
	int64_t want = profile_rtt_ns(profile), got = median_of(check, "echo");
	int64_t tolerance = verdict_tolerance_ns(profile);
	char want_text[UNITS_TEXT_SIZE], got_text[UNITS_TEXT_SIZE],
		tolerance_text[UNITS_TEXT_SIZE];

	if (!got)
		return err_set(err, "no echo came back over the link");
	if (llabs(got - want) <= tolerance)
		return 0;
	units_format_short(want, want_text);
	units_format_short(got, got_text);
	units_format_short(tolerance, tolerance_text);
	return err_set(err, "the link's round trip is %s, expected %s +- %s", got_text,
		want_text, tolerance_text);
}

int
verdict_drops(const struct buf *link, const struct profile *profile, struct err *err)
{
	static const char *const names[DIRECTIONS] = {"up_dropped", "down_dropped"};

	for (int i = 0; i < DIRECTIONS; i++) {
		int64_t dropped = median_of(link, names[i]);

		if (dropped && !profile->path[i].rate_bps)
			return err_set(err,
				"the link dropped %" PRId64
				" packets (%s) that no setting explains",
				dropped, names[i]);
	}
	return 0;
}

/* 5% of the RTT: what expectations of a figure in round trips allow it to be off. */
int64_t
verdict_stall_limit_ns(const struct profile *profile)
{
	int64_t limit = profile_rtt_ns(profile) / 20;

	return limit > STALL_MAX_NS ? limit : STALL_MAX_NS;
}

static int
take_stall(const struct record *record, void *context, struct err *err)
{
	if (record->kind != RECORD_INFO || strcmp(record->name, "stall_max_ns"))
		return 0;
	return units_parse_count(record->text, context, err);
}

int
verdict_stalls(const struct buf *link, const struct profile *profile, struct err *err)
{
	int64_t limit = verdict_stall_limit_ns(profile), stall = 0;
	char limit_text[UNITS_TEXT_SIZE], stall_text[UNITS_TEXT_SIZE];

	if (record_each(buf_text(link), link->len, take_stall, &stall, err) < 0)
		return err_prefix(err, "the link's output");
	if (stall <= limit)
		return 0;
	units_format_short(stall, stall_text);
	units_format_short(limit, limit_text);
	return err_set(
		err, "the emulator stood still for %s, more than %s", stall_text, limit_text);
}
