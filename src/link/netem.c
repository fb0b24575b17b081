/* netem through tc(8): arguments, error texts, JSON. */
#include "link/netem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* netem delays each packet by itself and sorts them by due time, so jitter reorders; a child
 * qdisc does not help, it only comes behind the sorting. But a packet that has to be serialised
 * starts after the one ahead of it (netem_enqueue() in net/sched/sch_netem.c), so a rate keeps
 * order, and one this high (12 ns for a full packet) does nothing else. */
#define ORDER_RATE_BPS INT64_C(1000000000000)

/* A profile's rate is that of IP packets; netem would also count the Ethernet header. */
#define RATE_OVERHEAD "-14"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Decimals of `value` / `unit`, without trailing zeros. */
static void
format_decimal(int64_t value, int64_t unit, int digits, const char *suffix,
	char out[static NETEM_TEXT])
{
	char decimals[16] = "";

	if (value % unit) {
		int len = snprintf(
			decimals, sizeof(decimals), ".%0*d", digits, (int)(value % unit));

		while (decimals[len - 1] == '0')
			decimals[--len] = '\0';
	}
	snprintf(out, NETEM_TEXT, "%" PRId64 "%s%s", value / unit, decimals, suffix);
}

static int64_t
rate_bps(const struct impairment *path)
{
	return path->rate_bps ? path->rate_bps : path->jitter_ns ? ORDER_RATE_BPS : 0;
}

void
netem_argv(const char *device, const struct impairment *path, const uint64_t *seed,
	struct netem_args *args)
{
	const char *start[] = {"tc", "qdisc", "add", "dev", device, "root", "netem", "limit"};
	char(*text)[NETEM_TEXT] = args->texts;
	const char **at = args->argv;

	memcpy(at, start, sizeof(start));
	at += COUNT(start);
	snprintf(*text, NETEM_TEXT, "%" PRId64, impairment_limit(path));
	*at++ = *text++;
	if (path->delay_ns) {
		format_decimal(path->delay_ns, NS_PER_US, 3, "us", *text);
		*at++ = "delay";
		*at++ = *text++;
	}
	if (path->jitter_ns) {
		format_decimal(path->jitter_ns, NS_PER_US, 3, "us", *text);
		*at++ = *text++;
	}
	if (path->loss_ppm) {
		format_decimal(path->loss_ppm, 10000, 4, "%", *text);
		*at++ = "loss";
		*at++ = *text++;
	}
	if (rate_bps(path)) {
		snprintf(*text, NETEM_TEXT, "%" PRId64 "bit", rate_bps(path));
		*at++ = "rate";
		*at++ = *text++;
		*at++ = RATE_OVERHEAD;
	}
	if (seed) {
		snprintf(*text, NETEM_TEXT, "%" PRIu64, *seed);
		*at++ = "seed";
		*at++ = *text++;
	}
	*at = NULL;
}

enum netem_fault
netem_fault(const char *words)
{
	static const struct {
		const char *words;
		enum netem_fault fault;
	} spellings[] = {
		{"Specified qdisc kind is unknown", NETEM_NO_QDISC},
		{"Specified qdisc not found", NETEM_NO_QDISC},
		{"No such file or directory", NETEM_NO_QDISC},
		{"Operation not supported", NETEM_NO_QDISC},
		{"Operation not permitted", NETEM_NO_PRIVILEGE},
	};

	for (size_t i = 0; i < COUNT(spellings); i++)
		if (strstr(words, spellings[i].words))
			return spellings[i].fault;
	return NETEM_OTHER;
}

/* The netem object in tc's list of qdiscs; NULL if there is none. */
static const char *
find_netem(const char *json)
{
	return strstr(json, "\"kind\":\"netem\"");
}

/* The number behind `key` (as it stands in the text, colon included), 0 if there is none. tc
 * prints JSON without blanks and this program never sets a locale, so strtod() will do. */
static double
number(const char *json, const char *key)
{
	const char *at = strstr(json, key);

	return at ? strtod(at + strlen(key), NULL) : 0;
}

/* tc keeps times in ticks of 64 ns and prints six digits. */
static bool
differs(double actual, double expected)
{
	return fabs(actual - expected) > 1e-7 + expected * 1e-4;
}

int
netem_confirm(const char *json, const struct impairment *path, struct err *err)
{
	const char *netem = find_netem(json);
	double delay_s, rate;

	if (!netem)
		return err_set(err, "tc shows no netem: '%.200s'", json);
	if (number(netem, "\"limit\":") != (double)impairment_limit(path))
		return err_set(err,
			"tc shows a netem with another limit than %" PRId64 ": '%.200s'",
			impairment_limit(path), netem);
	delay_s = (double)path->delay_ns / (double)NS_PER_S;
	if (differs(number(netem, "\"delay\":{\"delay\":"), delay_s))
		return err_set(err, "tc shows a netem with another delay than %g s: '%.200s'",
			delay_s, netem);
	rate = (double)rate_bps(path) / 8;
	if (differs(number(netem, "\"rate\":{\"rate\":"), rate))
		return err_set(err,
			"tc shows a netem with another rate than %g bytes/s: '%.200s'", rate,
			netem);
	return 0;
}

bool
netem_has_seed(const char *json)
{
	return strstr(json, "\"seed\":") != NULL;
}

int
netem_read_counters(const char *json, struct netem_counters *counters, struct err *err)
{
	const char *netem = find_netem(json);

	if (!netem)
		return err_set(err, "the link broke: its netem is gone");
	counters->packets = (int64_t)number(netem, "\"packets\":");
	counters->drops = (int64_t)number(netem, "\"drops\":");
	return 0;
}

int64_t
netem_explained(int64_t offered, int64_t drops, int64_t loss_ppm)
{
	double p = (double)loss_ppm / 1e6, mean = (double)offered * p;
	/* 3.3 standard deviations, and a little for small numbers, where the tail is longer. */
	double most = loss_ppm ? mean + 3.3 * sqrt(mean * (1 - p)) + 3 : 0;

	return (double)drops <= most ? drops : (int64_t)most;
}
