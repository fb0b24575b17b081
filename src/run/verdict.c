/* Believes a measurement only after looking at it. */
#include "run/verdict.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "stat/record.h"

#define ECHO_BITS (100 * 8) /* an echo on the wire, with its headers */
#define METRICS_MAX 256     /* different names one half may print */

struct names {
	char name[METRICS_MAX][RECORD_NAME_SIZE];
	size_t count;
};

static bool
names_have(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->name[i], name))
			return true;
	return false;
}

static int
take_name(const struct record *record, void *context, struct err *err)
{
	struct names *names = context;

	if (record->kind > RECORD_COUNT || names_have(names, record->name))
		return 0;
	if (names->count == METRICS_MAX)
		return err_set(err, "more than %d different metrics", METRICS_MAX);
	strcpy(names->name[names->count++], record->name);
	return 0;
}

/* Every metric name of one half; -1 at the first line that is not a record. */
static int
collect_names(const struct buf *output, const char *half, struct names *names, struct err *err)
{
	if (record_each(buf_text(output), output->len, take_name, names, err) < 0)
		return err_prefix(err, "the %s's output", half);
	return 0;
}

int
verdict_records(const struct buf *client, const struct buf *server, struct err *err)
{
	struct names *both = alloc_zero(2, sizeof(*both));
	int status = -1;

	if (collect_names(client, "client", &both[0], err) < 0 ||
		collect_names(server, "server", &both[1], err) < 0)
		goto out;
	if (!both[0].count) {
		err_set(err, "the client printed no measurement");
		goto out;
	}
	for (size_t i = 0; i < both[0].count; i++) {
		if (names_have(&both[1], both[0].name[i])) {
			err_set(err, "both halves printed the metric %s", both[0].name[i]);
			goto out;
		}
	}
	status = 0;
out:
	free(both);
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
