/* Reads one entry under cells: and checks it against the catalogue and the matrix's profiles.
 */
#include "run/entry.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

struct entry_keys {
	const struct conf_node *probe, *command, *image, *vary, *set, *exclude, *profiles,
		*families;
	const struct conf_node *samples, *expect;
	struct conf_number deadline;
};

#define KEY(member) offsetof(struct entry_keys, member)

/* clang-format off */
static const struct conf_key entry_table[] = {
	{"probe",    CONF_WORD,     KEY(probe),    true,  0, 0},
	{"command",  CONF_WORD,     KEY(command),  false, 0, 0},
	{"image",    CONF_WORD,     KEY(image),    false, 0, 0},
	{"vary",     CONF_MAPPING,  KEY(vary),     false, 0, 0},
	{"set",      CONF_MAPPING,  KEY(set),      false, 0, 0},
	{"exclude",  CONF_MAPS,     KEY(exclude),  false, 1, ENTRY_ITEMS_MAX},
	{"profiles", CONF_WORDS,    KEY(profiles), false, 1, ENTRY_ITEMS_MAX},
	{"families", CONF_WORDS,    KEY(families), false, 1, FAMILIES_MAX},
	{"samples",  CONF_ANY,      KEY(samples),  false, 0, 0},
	{"deadline", CONF_DURATION, KEY(deadline), false, 100 * NS_PER_MS, 86400 * NS_PER_S},
	{"expect",   CONF_MAPS,     KEY(expect),   false, 1, ENTRY_ITEMS_MAX},
	{0},
};
/* clang-format on */

static const struct conf_elsewhere elsewhere[] = {
	{"awake", "of a cell stands under its 'set' or 'vary'"},
	{"repeats", "is one for the whole file"},
	{"seed", "is one for the whole file"},
	{0},
};

static int
unknown_probe(struct reading *reading, const struct conf_node *node)
{
	const struct catalogue *catalogue = reading->catalogue;
	const char **names = alloc_zero(catalogue->count, sizeof(*names));

	for (size_t i = 0; i < catalogue->count; i++)
		names[i] = catalogue->probes[i].name;
	conf_unknown("probe", node->text, names, catalogue->count, reading->err);
	free(names);
	return conf_place(&reading->doc, node, reading->err);
}

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The name of a program, as whoever starts it will look it up. */
static bool
is_in_path(const char *name)
{
	const char *at = getenv("PATH");
	bool found = false;

	while (at && *at && !found) {
		size_t len = strcspn(at, ":");
		char *path = len ? alloc_printf("%.*s/%s", (int)len, at, name)
				 : alloc_text(name); /* an empty entry is the present folder */

		found = is_program(path);
		free(path);
		at += len + (at[len] == ':');
	}
	return found;
}

/* A name is looked up in PATH when it is started; a path is taken from the matrix's folder, so
 * that it means the same from wherever the runner is called. */
static int
read_command(struct reading *reading, const struct conf_node *node, struct entry *entry)
{
	const char *slash = strrchr(reading->doc.file, '/');

	if (!strchr(node->text, '/') || *node->text == '/' || !slash)
		entry->command = alloc_text(node->text);
	else
		entry->command = alloc_printf("%.*s/%s", (int)(slash - reading->doc.file),
			reading->doc.file, node->text);
	if (!strchr(node->text, '/'))
		return is_in_path(node->text) ? 0
					      : conf_error(&reading->doc, node, reading->err,
							"command '%s' is not in PATH; a file "
							"beside the matrix is './%s'",
							node->text, node->text);
	if (is_program(entry->command))
		return 0;
	return conf_error(&reading->doc, node, reading->err,
		"command '%s' is not an executable file", entry->command);
}

/* It stands on the engine's command line: anything else could be taken for an option there. */
static int
read_image(struct reading *reading, const struct conf_node *node, struct entry *entry)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-/:@";

	if (*node->text == '-' || node->text[strspn(node->text, letters)])
		return conf_error(&reading->doc, node, reading->err,
			"'%s' is not an image: expected NAME[:TAG] or NAME@DIGEST", node->text);
	entry->image = node->text;
	return 0;
}

static int
ask_it(const struct entry *entry, struct probe_desc *desc)
{
	return entry->command ? catalogue_ask(entry->command, entry->probe, desc, NULL)
			      : catalogue_ask_image(entry->image, entry->probe, desc, NULL);
}

/* What describes itself is checked like our own probes, what does not (or is not here) is not.
 */
static void
ask_description(struct reading *reading, struct entry *entry)
{
	struct probe_desc own = {0};

	if (!reading->catalogue->ask_commands || ask_it(entry, &own) < 0) {
		probe_desc_free(&own);
		return;
	}
	entry->own = alloc_zero(1, sizeof(own));
	*entry->own = own;
	entry->desc = entry->own;
}

static int
read_probe(struct reading *reading, const struct entry_keys *keys, struct entry *entry)
{
	entry->probe = keys->probe->text;
	if (keys->command && read_command(reading, keys->command, entry) < 0)
		return -1;
	if (keys->image && read_image(reading, keys->image, entry) < 0)
		return -1;
	if (keys->command || keys->image) {
		ask_description(reading, entry);
		return matrix_check_name(reading, keys->probe, "probe");
	}
	entry->desc = catalogue_find(reading->catalogue, entry->probe);
	return entry->desc ? 0 : unknown_probe(reading, keys->probe);
}

static int
unknown_profile(struct reading *reading, const struct conf_node *node)
{
	const struct matrix *matrix = reading->matrix;
	const char **names = alloc_zero(matrix->profile_count, sizeof(*names));

	for (size_t i = 0; i < matrix->profile_count; i++)
		names[i] = matrix->profiles[i].name;
	conf_unknown("profile of this matrix", node->text, names, matrix->profile_count,
		reading->err);
	free(names);
	return conf_place(&reading->doc, node, reading->err);
}

static int
add_profile(struct reading *reading, const struct conf_node *node, struct entry *entry)
{
	const struct matrix *matrix = reading->matrix;
	const struct profile *found = NULL;

	for (size_t i = 0; i < matrix->profile_count && !found; i++)
		if (!strcmp(matrix->profiles[i].name, node->text))
			found = &matrix->profiles[i];
	if (!found)
		return unknown_profile(reading, node);
	for (size_t i = 0; i < entry->profile_count; i++)
		if (entry->profiles[i] == found)
			return conf_error(&reading->doc, node, reading->err,
				"profile '%s' twice", node->text);
	entry->profiles[entry->profile_count++] = found;
	return 0;
}

/* Those the entry names, or all of the matrix. */
static int
read_profiles(struct reading *reading, const struct conf_node *node, struct entry *entry)
{
	const struct matrix *matrix = reading->matrix;
	size_t count;
	const struct conf_node *items;

	entry->profiles = alloc_zero(matrix->profile_count, sizeof(*entry->profiles));
	entry->samples = alloc_zero(matrix->profile_count, sizeof(*entry->samples));
	if (!node) {
		for (size_t i = 0; i < matrix->profile_count; i++)
			entry->profiles[entry->profile_count++] = &matrix->profiles[i];
		return 0;
	}
	items = conf_items(node, &count);
	for (size_t i = 0; i < count; i++)
		if (add_profile(reading, &items[i], entry) < 0)
			return -1;
	return 0;
}

int
families_read(struct reading *reading, const struct conf_node *node,
	int families[static FAMILIES_MAX], size_t *count)
{
	const struct conf_node *items;
	size_t given;

	*count = 0;
	items = conf_items(node, &given);
	for (size_t i = 0; i < given; i++) {
		if (strcmp(items[i].text, "4") && strcmp(items[i].text, "6"))
			return conf_error(&reading->doc, &items[i], reading->err,
				"'%s' is not an address family: expected 4 or 6",
				items[i].text);
		if (i && !strcmp(items[i].text, items[0].text))
			return conf_error(&reading->doc, &items[i], reading->err,
				"address family %s twice", items[i].text);
		families[(*count)++] = items[i].text[0] - '0';
	}
	return 0;
}

int
entry_read(struct reading *reading, const struct conf_node *node, struct entry *entry)
{
	struct entry_keys keys = {0};

	*entry = (struct entry){.at = node};
	if (conf_check_elsewhere(&reading->doc, node, elsewhere, reading->err) < 0 ||
		conf_fill(&reading->doc, node, entry_table, &keys, reading->err) < 0)
		return -1;
	entry->exclude = keys.exclude;
	entry->expect = keys.expect;
	entry->deadline_ns = keys.deadline.value;
	entry->family_count = reading->family_count;
	memcpy(entry->families, reading->families, sizeof(entry->families));
	if (read_probe(reading, &keys, entry) < 0)
		return -1;
	if (entry_read_axes(reading, keys.set, keys.vary, entry) < 0)
		return -1;
	if (entry_check_exclude(reading, entry) < 0)
		return -1;
	if (read_profiles(reading, keys.profiles, entry) < 0)
		return -1;
	if (keys.families && families_read(reading, keys.families, entry->families,
				     &entry->family_count) < 0)
		return -1;
	if (samples_read(reading, keys.samples, entry) < 0)
		return -1;
	return expect_read(reading, entry);
}

void
entry_free(struct entry *entry)
{
	free(entry->command);
	if (entry->own)
		probe_desc_free(entry->own);
	free(entry->own);
	free(entry->axes);
	free(entry->profiles);
	free(entry->samples);
	*entry = (struct entry){0};
}
