/* Believes a measurement only after looking at it. */
#include "run/verdict.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "run/tally.h"
#include "stat/quantile.h"
#include "stat/record.h"

#define ECHO_BYTES 100 /* an echo on the wire, with its headers */

/* Up to here the median is still that of packets which did not overtake, either way. */
#define REORDER_FEW_PPM 150000

/* Between two cases, a factor of two from the second. With four busy loops on two cores the
 * longest stall of a link was 6 ms in the median without SCHED_FIFO, below 20 ms on 50 links of
 * 52 (17 ms at most with it), and medians stayed right. A stop of 50 ms has to be found, and is
 * seen as 40 at least: the rest may pass for sleep. */
#define STALL_MAX_NS INT64_C(20000000)

#define ECHO_LEAST_NS INT64_C(150000) /* what waking a core moves an echo by */

/* Twice what an idle machine gives: on 90 links of 0.5 ms the p99 was 28 us in the median and
 * 314 at most; on 145 of 50 ms, where so few packets go that p99 is nearly the latest, 145 us
 * in the median, above 1.2 ms once, 2.5 ms at most. With four busy loops on two cores and other
 * work beside them, 252 us and 581 us at most on links whose echo was right. */
#define LATE_P99_NS INT64_C(600000)

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

/* How far one direction may take an echo's median from its delay. */
static int64_t
path_tolerance_ns(const struct impairment *path)
{
	int64_t tolerance = path->jitter_ns;

	/* The median of some 20 echoes, to about four standard deviations of it. */
	if (path->distribution == DISTRIBUTION_UNIFORM)
		tolerance /= 2;
	tolerance += impairment_wait_ns(path, ECHO_BYTES);
	if (path->reorder_ppm > REORDER_FEW_PPM)
		tolerance += path->delay_ns;
	return tolerance;
}

int64_t
verdict_tolerance_ns(const struct profile *profile)
{
	int64_t tolerance = profile_rtt_ns(profile) / 50;

	if (tolerance < ECHO_LEAST_NS)
		tolerance = ECHO_LEAST_NS;
	for (int i = 0; i < DIRECTIONS; i++)
		tolerance += path_tolerance_ns(&profile->path[i]);
	return tolerance;
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
	if (values.count)
		median = stat_middle(values.items, values.count);
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
	static const char *const dropped[DIRECTIONS] = {"up_dropped", "down_dropped"};
	static const char *const missed[DIRECTIONS] = {"up_missed", "down_missed"};

	for (enum direction i = UP; i < DIRECTIONS; i++) {
		int64_t in_link = median_of(link, dropped[i]);
		int64_t outside = median_of(link, missed[i]);

		if (outside)
			return err_set(err,
				"the machine lost %" PRId64
				" packets (%s) on their way to the link or from it",
				outside, missed[i]);
		if (in_link && !profile_may_drop(profile, i))
			return err_set(err,
				"the link dropped %" PRId64
				" packets (%s) that no setting explains",
				in_link, dropped[i]);
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

/* An info of the emulator that is a number. */
struct told {
	const char *name;
	int64_t value; /* 0: not told */
};

static int
take_told(const struct record *record, void *context, struct err *err)
{
	struct told *told = context;

	if (record->kind != RECORD_INFO || strcmp(record->name, told->name))
		return 0;
	return units_parse_count(record->text, &told->value, err);
}

/* Above the limit, `what`, the figure and the limit are the reason. */
static int
judge_told(const struct buf *link, const char *name, int64_t limit, const char *what,
	struct err *err)
{
	struct told told = {.name = name};
	char limit_text[UNITS_TEXT_SIZE], value_text[UNITS_TEXT_SIZE];

	if (record_each(buf_text(link), link->len, take_told, &told, err) < 0)
		return err_prefix(err, "the link's output");
	if (told.value <= limit)
		return 0;
	units_format_short(told.value, value_text);
	units_format_short(limit, limit_text);
	return err_set(err, "%s %s, more than %s", what, value_text, limit_text);
}

int
verdict_stalls(const struct buf *link, const struct profile *profile, struct err *err)
{
	return judge_told(link, "stall_max_ns", verdict_stall_limit_ns(profile),
		"the emulator stood still for", err);
}

static int64_t
at_least(int64_t value, int64_t least)
{
	return value > least ? value : least;
}

int64_t
verdict_late_p50_limit_ns(const struct profile *profile)
{
	return at_least(profile_rtt_ns(profile) / 50, ECHO_LEAST_NS) / DIRECTIONS;
}

int64_t
verdict_late_p99_limit_ns(const struct profile *profile)
{
	return at_least(profile_rtt_ns(profile) / 20, LATE_P99_NS);
}

int
verdict_lateness(const struct buf *link, const struct profile *profile, struct err *err)
{
	if (judge_told(link, "lateness_p50_ns", verdict_late_p50_limit_ns(profile),
		    "half of the packets left the emulator late by at least", err) < 0)
		return -1;
	return judge_told(link, "lateness_p99_ns", verdict_late_p99_limit_ns(profile),
		"one packet in 100 left the emulator late by at least", err);
}
