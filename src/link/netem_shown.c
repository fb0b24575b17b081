/* Reads tc's JSON. tc prints it without blanks, and this program never sets a locale. */
#include "link/netem_shown.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "link/netem.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One object of tc's list of qdiscs. */
struct shown {
	const char *text;
	size_t len;
};

/* `start` is how the object of that kind begins; false if there is none. */
static bool
find(const char *json, const char *start, struct shown *shown)
{
	const char *at = strstr(json, start), *next;

	if (!at)
		return false;
	next = strstr(at + strlen(start), "{\"kind\":");
	*shown = (struct shown){at, next ? (size_t)(next - at) : strlen(at)};
	return true;
}

static bool
find_netem(const char *json, struct shown *shown)
{
	return find(json, "\"kind\":\"netem\"", shown);
}

static bool
find_bucket(const char *json, struct shown *shown)
{
	return find(json, "\"kind\":\"tbf\"", shown);
}

/* The number behind `key` (as it stands in the text, colon included), 0 if there is none. */
static double
number(const struct shown *shown, const char *key)
{
	const char *at = memmem(shown->text, shown->len, key, strlen(key));

	return at ? strtod(at + strlen(key), NULL) : 0;
}

/* What one key is to be. tc prints six digits, of whole microseconds where it is about time
 * (and those of ticks of 64 ns, rounded down); the kernel keeps shares as parts of 2^32. */
struct expected {
	const char *what, *key;
	double value, tolerance;
};

#define US_TOLERANCE 1.5e-6
#define SHARE_TOLERANCE 5e-10
#define DIGITS 1e-4

static int
confirm_all(
	const struct shown *shown, const struct expected *rows, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		double actual = number(shown, rows[i].key);

		if (fabs(actual - rows[i].value) > rows[i].tolerance + rows[i].value * DIGITS)
			return err_set(err, "tc shows a %s of %g, expected %g: '%.300s'",
				rows[i].what, actual, rows[i].value, shown->text);
	}
	return 0;
}

static double
seconds(int64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

static int
confirm_netem(const struct shown *netem, const struct impairment *path, struct err *err)
{
	const struct gemodel none = {0}, *model = path->bursts ? &path->gemodel : &none;
	double alone = path->bursts ? 0 : (double)path->loss_ppm / 1e6;
	const struct expected rows[] = {
		{"limit", "\"limit\":", (double)impairment_limit(path), 0.5},
		{"delay", "\"delay\":{\"delay\":", seconds(path->delay_ns), US_TOLERANCE},
		{"jitter", "\"jitter\":", seconds(path->jitter_ns), US_TOLERANCE},
		{"loss", "\"loss-random\":{\"loss\":", alone, SHARE_TOLERANCE},
		{"p of its gemodel", "\"loss-gemodel\":{\"p\":",
			(double)model->to_bad_ppb / 1e9, SHARE_TOLERANCE},
		{"r of its gemodel", "\"r\":", (double)model->to_good_ppb / 1e9,
			SHARE_TOLERANCE},
		{"1-h of its gemodel", "\"1-h\":", (double)model->bad_loss_ppb / 1e9,
			SHARE_TOLERANCE},
		{"1-k of its gemodel", "\"1-k\":", (double)model->good_loss_ppb / 1e9,
			SHARE_TOLERANCE},
		{"duplicate", "\"duplicate\":{\"duplicate\":",
			(double)path->duplicate_ppm / 1e6, SHARE_TOLERANCE},
		{"corrupt", "\"corrupt\":{\"corrupt\":", (double)path->corrupt_ppm / 1e6,
			SHARE_TOLERANCE},
		{"reorder", "\"reorder\":{\"reorder\":", (double)path->reorder_ppm / 1e6,
			SHARE_TOLERANCE},
		{"gap", "\"gap\":", (double)path->reorder_gap, 0.5},
		{"rate in bytes/s", "\"rate\":{\"rate\":", (double)(netem_rate_bps(path) / 8),
			1},
	};

	return confirm_all(netem, rows, COUNT(rows), err);
}

/* tc shows the bound as the time in which what is above the bucket runs out, in us; rounded,
 * from ticks. */
static int
confirm_bucket(const struct shown *netem, const char *json, const struct impairment *path,
	struct err *err)
{
	double bytes_per_s = (double)path->rate_bps / 8;
	double above = (double)(path->queue_bytes - netem_bucket_bytes(path));
	const struct expected rows[] = {
		{"tbf rate in bytes/s", "\"rate\":", bytes_per_s, 1},
		{"tbf queue in us", "\"lat\":", above / bytes_per_s * 1e6, 2},
	};
	const struct expected overhead = {"frame overhead", "\"overhead\":", -14, 0.5};
	struct shown bucket;

	if (!find_bucket(json, &bucket))
		return err_set(err, "tc shows no tbf: '%.300s'", json);
	if (confirm_all(netem, &overhead, 1, err) < 0)
		return -1;
	/* Less than a bucket comes out as a negative time, which tc does not print as one. */
	return confirm_all(&bucket, rows, above < 0 ? 1 : COUNT(rows), err);
}

int
netem_confirm(const char *json, const struct impairment *path, struct err *err)
{
	struct shown netem;

	if (!find_netem(json, &netem))
		return err_set(err, "tc shows no netem: '%.200s'", json);
	if (confirm_netem(&netem, path, err) < 0)
		return -1;
	return netem_bucket_bytes(path) ? confirm_bucket(&netem, json, path, err) : 0;
}

bool
netem_has_seed(const char *json)
{
	return strstr(json, "\"seed\":") != NULL;
}

int
netem_read_counters(const char *json, struct netem_counters *counters, struct err *err)
{
	struct shown netem, bucket;

	if (!find_netem(json, &netem))
		return err_set(err, "the link broke: its netem is gone");
	*counters = (struct netem_counters){
		.packets = (int64_t)number(&netem, "\"packets\":"),
		.drops = (int64_t)number(&netem, "\"drops\":"),
	};
	if (find_bucket(json, &bucket))
		counters->queue_drops = (int64_t)number(&bucket, "\"drops\":");
	return 0;
}

/* By how much the variance of the number of losses among `n` packets is larger than if each
 * were lost by itself, with the same share in the long run. The two states are a Markov chain;
 * what packets k apart suffer covaries as (bad - good)^2 x B x (1 - B) x (1 - p - r)^k, where B
 * = p / (p + r) is the share of time in the bad state. */
static double
burst_inflation(double n, double share, const struct gemodel *model)
{
	double p = (double)model->to_bad_ppb / 1e9, r = (double)model->to_good_ppb / 1e9;
	double gap = (double)(model->bad_loss_ppb - model->good_loss_ppb) / 1e9;
	double decay = 1 - p - r, change = p + r, bad, pairs;

	if (change <= 0 || n < 1 || share <= 0 || share >= 1)
		return 1;
	bad = p / change;
	/* The sum of (n - k) decay^k over k = 1 … n - 1. */
	pairs = n * decay / change - decay * (1 - pow(decay, n)) / (change * change);
	return 1 + 2 * gap * gap * bad * (1 - bad) * pairs / (n * share * (1 - share));
}

int64_t
netem_explained(int64_t handled, int64_t drops, const struct impairment *path)
{
	double n = (double)handled, share = (double)path->loss_ppm / 1e6, mean = n * share;
	double inflation = path->bursts ? burst_inflation(n, share, &path->gemodel) : 1;
	/* 3.3 standard deviations, and a little for small numbers, where the tail is longer:
	 * three losses, or two long bursts. Bursts were simulated to find that two are enough.
	 */
	double most = mean + 3.3 * sqrt(mean * (1 - share) * inflation) +
		      fmax(3, 2 * inflation);

	if (!path->loss_ppm)
		return 0;
	return (double)drops <= most ? drops : (int64_t)most;
}

/* netem draws whether a packet is doubled, then whether it is lost. One of the two copies can
 * be lost in the first draw, and the other is offered anew with a draw of its own: so a packet
 * comes to 1 + duplicate x (1 - loss) of them. */
int64_t
netem_offered(int64_t handled, const struct impairment *path)
{
	double copies = (double)path->duplicate_ppm / 1e6 * (1 - (double)path->loss_ppm / 1e6);

	return (int64_t)((double)handled / (1 + copies) + 0.5);
}
