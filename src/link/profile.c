/* Reads a profile file: one table for the whole link, one for each direction. */
#include "link/profile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "conf/table.h"
#include "link/path_keys.h"
#include "link/trace.h"

#define PACKETS_MIN INT64_C(1000)
#define PACKET_BITS (INT64_C(1500) * 8)
#define UNLIMITED_BPS INT64_C(10000000000)
#define CHANGES_MAX 1000
#define CHANGE_MAX_NS (3600 * NS_PER_S)

/* What stands in a profile, or in it and in its changes up to one of them. */
struct profile_keys {
	struct conf_number schema, rtt, loopback, cold, at;
	struct path_keys both, own[DIRECTIONS];
	const struct conf_node *direction[DIRECTIONS];
	const struct conf_node *changes, *trace;
};

#define TOP(member) offsetof(struct profile_keys, member)
#define BOTH(member) TOP(both.member)

/* clang-format off */
static const struct conf_key profile_table[] = {
	{"schema",   CONF_COUNT,    TOP(schema),          true,  1, 1},
	{"rtt",      CONF_DURATION, TOP(rtt),             false, 0, PROFILE_DELAY_MAX_NS},
	PATH_KEYS_ROWS(BOTH),
	{"trace",    CONF_WORD,     TOP(trace),           false, 0, 0},
	{"up",       CONF_MAPPING,  TOP(direction[UP]),   false, 0, 0},
	{"down",     CONF_MAPPING,  TOP(direction[DOWN]), false, 0, 0},
	{"changes",  CONF_MAPS,     TOP(changes),         false, 1, CHANGES_MAX},
	{"cold",     CONF_FLAG,     TOP(cold),            false, 0, 0},
	{"loopback", CONF_FLAG,     TOP(loopback),        false, 0, 0},
	{0},
};

static const struct conf_key change_table[] = {
	{"at",       CONF_DURATION, TOP(at),              true,  1, CHANGE_MAX_NS},
	{"rtt",      CONF_DURATION, TOP(rtt),             false, 0, PROFILE_DELAY_MAX_NS},
	PATH_KEYS_ROWS(BOTH),
	{"up",       CONF_MAPPING,  TOP(direction[UP]),   false, 0, 0},
	{"down",     CONF_MAPPING,  TOP(direction[DOWN]), false, 0, 0},
	{0},
};
/* clang-format on */

#define ONE_WAY "is one way and stands under 'up' and 'down'; 'rtt' is the whole round trip"
#define TOP_ONLY "stands at the top of a profile only"

static const struct conf_elsewhere not_at_the_top[] = {{"delay", ONE_WAY}, {0}};

static const struct conf_elsewhere not_in_a_change[] = {
	{"delay", ONE_WAY},
	{"trace", TOP_ONLY},
	{"changes", TOP_ONLY},
	{"cold", TOP_ONLY},
	{0},
};

static const struct conf_elsewhere not_in_a_direction[] = {
	{"rtt", "is the whole round trip: under 'up' and 'down' it is 'delay', one way"},
	{"trace", "stands at the top of a profile only, for both directions"},
	{"changes", TOP_ONLY},
	{"cold", TOP_ONLY},
	{"loopback", TOP_ONLY},
	{0},
};

static const char *const direction_names[] = {[UP] = "up", [DOWN] = "down"};

/* The larger half is up. */
static int64_t
half_of(int64_t rtt_ns, enum direction direction)
{
	return rtt_ns / 2 + (direction == UP ? rtt_ns % 2 : 0);
}

/* The delay of one direction: its own key, or its half of the round trip. */
static int
read_delay(const struct conf_doc *doc, const struct profile_keys *keys,
	enum direction direction, int64_t *delay_ns, struct err *err)
{
	const struct conf_number *own = &keys->own[direction].delay;

	if (own->at && keys->rtt.at)
		return conf_key_error(doc, own->at, err,
			"'rtt' and 'delay' together: the round trip is one or the other");
	if (!own->at && !keys->rtt.at)
		return conf_error(doc, &doc->root, err,
			"no delay %s: expected 'rtt', or 'delay' under both 'up' and 'down', "
			"or "
			"'loopback: true'",
			direction_names[direction]);
	if (own->at)
		*delay_ns = own->value;
	else
		*delay_ns = half_of(keys->rtt.value, direction);
	return 0;
}

/* One mapping of the profile on top of what `keys` hold already, and what that comes to. */
static int
read_paths(const struct conf_doc *doc, struct profile_keys *keys, const struct trace *trace,
	struct impairment path[static DIRECTIONS], struct err *err)
{
	for (enum direction i = UP; i < DIRECTIONS; i++) {
		const struct conf_node *own = keys->direction[i];

		if (own &&
			(conf_check_elsewhere(doc, own, not_in_a_direction, err) < 0 ||
				conf_fill(doc, own, path_keys_table, &keys->own[i], err) < 0))
			return -1;
		path[i] = (struct impairment){.trace = trace};
		if (read_delay(doc, keys, i, &path[i].delay_ns, err) < 0 ||
			path_keys_apply(doc, &keys->own[i], &keys->both, direction_names[i],
				&path[i], err) < 0)
			return -1;
	}
	return 0;
}

/* A pipe would be waited for, perhaps for ever. */
static int
check_regular(const char *file, struct err *err)
{
	struct stat status;

	if (stat(file, &status) < 0)
		return err_sys(err, "open %s", file);
	return S_ISREG(status.st_mode) ? 0 : err_set(err, "%s: not a regular file", file);
}

/* The trace lies beside the profile, so that both can be copied together. */
static int
read_trace(const struct conf_doc *doc, const struct conf_node *node, struct profile *profile,
	struct err *err)
{
	const char *slash = strrchr(profile->file, '/');
	struct buf text = {0};
	char *file;
	int status;

	if (strchr(node->text, '/'))
		return conf_error(doc, node, err,
			"key 'trace': '%s': expected the name of a file beside the profile",
			node->text);
	file = alloc_printf("%.*s%s", slash ? (int)(slash + 1 - profile->file) : 0,
		profile->file, node->text);
	status = check_regular(file, err);
	if (status == 0)
		status = file_read(file, TRACE_FILE_MAX, &text, err);
	if (status == 0) {
		profile->trace = trace_parse(file, buf_text(&text), text.len, err);
		profile->trace_name = alloc_text(node->text);
		profile->trace_text = alloc_text_n(buf_text(&text), text.len);
	}
	buf_free(&text);
	free(file);
	return profile->trace ? 0 : conf_value_error(doc, node, err);
}

/* A change that names the delay of one direction leaves the other's as it was: the round trip
 * so far comes apart. */
static void
split_rtt(struct profile_keys *keys, const struct conf_node *change)
{
	bool apart = false;

	for (enum direction i = UP; i < DIRECTIONS; i++) {
		const struct conf_node *own = conf_get(change, direction_names[i]);

		apart |= own && own->kind == CONF_MAP && conf_get(own, "delay");
	}
	if (!apart || !keys->rtt.at || conf_get(change, "rtt"))
		return;
	for (enum direction i = UP; i < DIRECTIONS; i++)
		keys->own[i].delay = (struct conf_number){
			.value = half_of(keys->rtt.value, i), .at = keys->rtt.at};
	keys->rtt = (struct conf_number){0};
}

/* What was said before and is said anew counts no more, in whichever mapping it stood. */
static void
forget(struct profile_keys *keys, const struct conf_node *change)
{
	split_rtt(keys, change);
	path_keys_forget(&keys->both, change);
	for (enum direction i = UP; i < DIRECTIONS; i++) {
		const struct conf_node *own = conf_get(change, direction_names[i]);

		path_keys_forget(&keys->own[i], change);
		if (own && own->kind == CONF_MAP)
			path_keys_forget(&keys->own[i], own);
		keys->direction[i] = NULL;
	}
}

static int
read_changes(const struct conf_doc *doc, struct profile_keys *keys, struct profile *profile,
	struct err *err)
{
	size_t count;
	const struct conf_node *maps = conf_items(keys->changes, &count);
	int64_t before_ns = 0;

	profile->changes = alloc_zero(count, sizeof(*profile->changes));
	for (size_t i = 0; i < count; i++) {
		struct change *change = &profile->changes[i];

		forget(keys, &maps[i]);
		if (conf_check_elsewhere(doc, &maps[i], not_in_a_change, err) < 0 ||
			conf_fill(doc, &maps[i], change_table, keys, err) < 0)
			return -1;
		if (keys->at.value <= before_ns)
			return conf_error(
				doc, keys->at.at, err, "key 'at': not after the change above");
		change->at_ns = before_ns = keys->at.value;
		if (read_paths(doc, keys, profile->trace, change->path, err) < 0)
			return -1;
		profile->change_count++;
	}
	return 0;
}

/* On one loopback interface there is no link: say so rather than ignore a key. */
static int
check_loopback(const struct conf_doc *doc, struct err *err)
{
	for (size_t i = 0; i < doc->root.count; i++) {
		const struct conf_node *node = &doc->root.items[i];

		if (strcmp(node->key, "schema") && strcmp(node->key, "loopback"))
			return conf_key_error(doc, node, err,
				"key '%s': with 'loopback: true' there is no link to shape",
				node->key);
	}
	return 0;
}

static int
read_keys(const struct conf_doc *doc, struct profile *profile, struct err *err)
{
	struct profile_keys keys = {0};

	if (conf_check_elsewhere(doc, &doc->root, not_at_the_top, err) < 0 ||
		conf_fill(doc, &doc->root, profile_table, &keys, err) < 0)
		return -1;
	profile->loopback = keys.loopback.value != 0;
	profile->cold = keys.cold.value != 0;
	if (profile->loopback)
		return check_loopback(doc, err);
	if (keys.trace && read_trace(doc, keys.trace, profile, err) < 0)
		return -1;
	if (read_paths(doc, &keys, profile->trace, profile->path, err) < 0)
		return -1;
	return keys.changes ? read_changes(doc, &keys, profile, err) : 0;
}

/* "netem/wan50.yaml" -> "wan50" */
static char *
name_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	size_t len = strlen(name);

	if (len > 5 && !strcmp(name + len - 5, ".yaml"))
		len -= 5;
	return alloc_text_n(name, len);
}

int
profile_parse(const char *file, const char *text, size_t len, struct profile *profile,
	struct err *err)
{
	struct conf_doc doc;
	int status;

	*profile = (struct profile){0};
	if (conf_parse(file, text, len, &doc, err) < 0)
		return -1;
	profile->name = name_of(file);
	profile->file = alloc_text(file);
	profile->text = alloc_text_n(text, len);
	status = read_keys(&doc, profile, err);
	conf_free(&doc);
	if (status < 0)
		profile_free(profile);
	return status;
}

int
profile_read(const char *file, struct profile *profile, struct err *err)
{
	struct buf text = {0};
	int status = -1;

	*profile = (struct profile){0};
	if (file_read(file, CONF_BYTES_MAX, &text, err) == 0)
		status = profile_parse(file, buf_text(&text), text.len, profile, err);
	buf_free(&text);
	return status;
}

void
profile_free(struct profile *profile)
{
	free(profile->name);
	free(profile->file);
	free(profile->text);
	free(profile->changes);
	trace_free(profile->trace);
	free(profile->trace_name);
	free(profile->trace_text);
	*profile = (struct profile){0};
}

int64_t
profile_rtt_ns(const struct profile *profile)
{
	return profile->path[UP].delay_ns + profile->path[DOWN].delay_ns;
}

int64_t
impairment_wait_ns(const struct impairment *path, int64_t bytes)
{
	if (path->trace)
		return trace_longest_gap_ns(path->trace);
	return path->rate_bps ? bytes * 8 * NS_PER_S / path->rate_bps : 0;
}

static bool
may_drop(const struct impairment *path)
{
	return path->rate_bps || path->trace || path->limit_packets;
}

bool
profile_may_drop(const struct profile *profile, enum direction direction)
{
	bool may = may_drop(&profile->path[direction]);

	for (size_t i = 0; i < profile->change_count && !may; i++)
		may = may_drop(&profile->changes[i].path[direction]);
	return may;
}

const char *
profile_emulator_key(const struct profile *profile)
{
	if (profile->change_count)
		return "changes";
	return profile->trace ? "trace" : NULL;
}

int64_t
impairment_missing_ppm(const struct impairment *path)
{
	int64_t through_ppm = PROFILE_SHARE_MAX - path->loss_ppm;

	return path->loss_ppm + through_ppm * path->corrupt_ppm / PROFILE_SHARE_MAX;
}

static int64_t
bits_per_second(const struct impairment *path)
{
	if (path->trace)
		return trace_mean_bps(path->trace);
	return path->rate_bps ? path->rate_bps : UNLIMITED_BPS;
}

int64_t
impairment_limit(const struct impairment *path)
{
	int64_t packets_per_s = bits_per_second(path) / PACKET_BITS;
	int64_t in_flight = packets_per_s * ((path->delay_ns + path->jitter_ns) / NS_PER_US) /
			    1000000;
	int64_t limit = 2 * in_flight;

	if (path->limit_packets)
		return path->limit_packets;
	if (limit < PACKETS_MIN)
		return PACKETS_MIN;
	return limit > PROFILE_PACKETS_MAX ? PROFILE_PACKETS_MAX : limit;
}
