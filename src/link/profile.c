/* Reads a profile file: one table for the whole link, one for each direction. */
#include "link/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"
#include "conf/table.h"

#define DELAY_MAX_NS (60 * NS_PER_S) /* of a round trip, and of one way */
#define RATE_MIN_BPS INT64_C(1000)
#define RATE_MAX_BPS INT64_C(100000000000)
#define LOSS_MAX_PPM INT64_C(1000000)
#define PACKETS_MIN INT64_C(1000)
#define PACKETS_MAX INT64_C(1000000)
#define PACKET_BITS (INT64_C(1500) * 8)
#define UNLIMITED_BPS INT64_C(10000000000)

/* What may stand for both directions at the top, or for one under up: or down:. */
struct path_keys {
	struct conf_number delay, jitter, loss, rate, limit;
};

struct profile_keys {
	struct conf_number schema, rtt, loopback;
	struct path_keys both;
	const struct conf_node *direction[DIRECTIONS];
};

#define OWN(member) offsetof(struct path_keys, member)
#define TOP(member) offsetof(struct profile_keys, member)

/* clang-format off */
static const struct conf_key path_table[] = {
	{"delay",  CONF_DURATION, OWN(delay),  false, 0, DELAY_MAX_NS},
	{"jitter", CONF_DURATION, OWN(jitter), false, 0, DELAY_MAX_NS},
	{"loss",   CONF_PERCENT,  OWN(loss),   false, 0, LOSS_MAX_PPM},
	{"rate",   CONF_RATE,     OWN(rate),   false, RATE_MIN_BPS, RATE_MAX_BPS},
	{"limit",  CONF_COUNT,    OWN(limit),  false, 1, PACKETS_MAX},
	{0},
};

static const struct conf_key profile_table[] = {
	{"schema",   CONF_COUNT,    TOP(schema),          true,  1, 1},
	{"rtt",      CONF_DURATION, TOP(rtt),             false, 0, DELAY_MAX_NS},
	{"jitter",   CONF_DURATION, TOP(both.jitter),     false, 0, DELAY_MAX_NS},
	{"loss",     CONF_PERCENT,  TOP(both.loss),       false, 0, LOSS_MAX_PPM},
	{"rate",     CONF_RATE,     TOP(both.rate),       false, RATE_MIN_BPS, RATE_MAX_BPS},
	{"limit",    CONF_COUNT,    TOP(both.limit),      false, 1, PACKETS_MAX},
	{"up",       CONF_MAPPING,  TOP(direction[UP]),   false, 0, 0},
	{"down",     CONF_MAPPING,  TOP(direction[DOWN]), false, 0, 0},
	{"loopback", CONF_FLAG,     TOP(loopback),        false, 0, 0},
	{0},
};
/* clang-format on */

static const char *const direction_names[] = {[UP] = "up", [DOWN] = "down"};

/* The key under up: or down: if it is there, else the one for both directions. */
static const struct conf_number *
pick(const struct conf_number *own, const struct conf_number *both)
{
	return own->at ? own : both;
}

static int
check_jitter(const struct conf_doc *doc, const struct conf_number *jitter, int64_t delay_ns,
	const char *direction, struct err *err)
{
	char have[UNITS_TEXT_SIZE], limit[UNITS_TEXT_SIZE];

	if (jitter->value <= delay_ns)
		return 0;
	units_format(UNIT_DURATION, jitter->value, have);
	units_format(UNIT_DURATION, delay_ns, limit);
	return conf_error(doc, jitter->at, err,
		"key 'jitter': %s is larger than the delay of %s (one way, %s)", have, limit,
		direction);
}

/* The delay of one direction: its own key, or its half of the round trip. */
static int
read_delay(const struct conf_doc *doc, const struct profile_keys *keys,
	const struct path_keys *own, enum direction direction, int64_t *delay_ns,
	struct err *err)
{
	if (own->delay.at && keys->rtt.at)
		return conf_key_error(doc, own->delay.at, err,
			"'rtt' and 'delay' together: the round trip is one or the other");
	if (!own->delay.at && !keys->rtt.at)
		return conf_error(doc, &doc->root, err,
			"no delay %s: expected 'rtt', or 'delay' under both 'up' and 'down', "
			"or "
			"'loopback: true'",
			direction_names[direction]);
	if (own->delay.at)
		*delay_ns = own->delay.value;
	else
		*delay_ns = keys->rtt.value / 2 + (direction == UP ? keys->rtt.value % 2 : 0);
	return 0;
}

static int
read_path(const struct conf_doc *doc, const struct profile_keys *keys, enum direction direction,
	struct impairment *path, struct err *err)
{
	const struct path_keys *both = &keys->both;
	const struct conf_number *jitter;
	struct path_keys own = {0};

	if (keys->direction[direction] &&
		conf_fill(doc, keys->direction[direction], path_table, &own, err) < 0)
		return -1;
	if (read_delay(doc, keys, &own, direction, &path->delay_ns, err) < 0)
		return -1;
	jitter = pick(&own.jitter, &both->jitter);
	if (check_jitter(doc, jitter, path->delay_ns, direction_names[direction], err) < 0)
		return -1;
	path->jitter_ns = jitter->value;
	path->loss_ppm = pick(&own.loss, &both->loss)->value;
	path->rate_bps = pick(&own.rate, &both->rate)->value;
	path->limit_packets = pick(&own.limit, &both->limit)->value;
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
	const struct conf_node *delay = conf_get(&doc->root, "delay");
	struct profile_keys keys = {0};

	if (delay)
		return conf_key_error(doc, delay, err,
			"key 'delay' is one way and stands under 'up' and 'down'; 'rtt' is the "
			"whole round trip");
	if (conf_fill(doc, &doc->root, profile_table, &keys, err) < 0)
		return -1;
	profile->loopback = keys.loopback.value != 0;
	if (profile->loopback)
		return check_loopback(doc, err);
	for (int direction = 0; direction < DIRECTIONS; direction++)
		if (read_path(doc, &keys, (enum direction)direction, &profile->path[direction],
			    err) < 0)
			return -1;
	return 0;
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
	*profile = (struct profile){0};
}

int64_t
profile_rtt_ns(const struct profile *profile)
{
	return profile->path[UP].delay_ns + profile->path[DOWN].delay_ns;
}

int64_t
impairment_limit(const struct impairment *path)
{
	int64_t rate_bps = path->rate_bps ? path->rate_bps : UNLIMITED_BPS;
	int64_t packets_per_s = rate_bps / PACKET_BITS;
	int64_t in_flight = packets_per_s * ((path->delay_ns + path->jitter_ns) / NS_PER_US) /
			    1000000;
	int64_t limit = 2 * in_flight;

	if (path->limit_packets)
		return path->limit_packets;
	if (limit < PACKETS_MIN)
		return PACKETS_MIN;
	return limit > PACKETS_MAX ? PACKETS_MAX : limit;
}
