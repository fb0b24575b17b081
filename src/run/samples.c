/* How many samples a repeat takes at each profile. */
#include "run/entry.h"

#include <string.h>

/* What a probe of three metrics prints of so many fits into CHILD_OUTPUT_MAX. */
#define SAMPLES_MAX INT64_C(500000)

static int
read_count(struct reading *reading, const struct conf_node *node, int64_t *samples)
{
	return conf_read_number(
		&reading->doc, node, CONF_COUNT, 1, SAMPLES_MAX, samples, reading->err);
}

/* A key of the mapping must be one of the profiles. */
static int
check_key(struct reading *reading, const struct conf_node *node,
	const struct profile *const *profiles, size_t count)
{
	const char *names[ENTRY_ITEMS_MAX];

	for (size_t i = 0; i < count; i++) {
		names[i] = profiles[i]->name;
		if (!strcmp(names[i], node->key))
			return 0;
	}
	conf_unknown("profile", node->key, names, count, reading->err);
	return err_prefix(
		reading->err, "%s:%d:%d", reading->doc.file, node->key_line, node->key_column);
}

int
samples_check(struct reading *reading, const struct conf_node *node,
	const struct profile *const *profiles, size_t count)
{
	int64_t samples;

	if (node->kind != CONF_MAP)
		return read_count(reading, node, &samples);
	for (size_t i = 0; i < node->count; i++)
		if (check_key(reading, &node->items[i], profiles, count) < 0 ||
			read_count(reading, &node->items[i], &samples) < 0)
			return -1;
	return 0;
}

/* The number that `node` (may be NULL) says for the profile, or NULL. */
static const struct conf_node *
look_up(const struct conf_node *node, const char *profile)
{
	return node && node->kind == CONF_MAP ? conf_get(node, profile) : node;
}

int
samples_read(struct reading *reading, const struct conf_node *own, struct entry *entry)
{
	if (own && samples_check(reading, own, entry->profiles, entry->profile_count) < 0)
		return -1;
	for (size_t i = 0; i < entry->profile_count; i++) {
		const char *profile = entry->profiles[i]->name;
		const struct conf_node *node = look_up(own, profile);

		if (!node)
			node = look_up(reading->samples, profile);
		if (!node)
			return conf_error(&reading->doc, entry->at, reading->err,
				"no 'samples' for profile '%s'", profile);
		if (read_count(reading, node, &entry->samples[i]) < 0)
			return -1;
	}
	return 0;
}
