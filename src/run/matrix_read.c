/* Reads a matrix file: its top, the profiles it names, its entries; then expands it. */
#include "run/entry.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "run/awake.h"

#define NAME_MAX_BYTES 48
#define REPEATS_MAX 1000
#define SUFFIX ".yaml"

struct matrix_keys {
	struct conf_number schema, seed, repeats;
	const struct conf_node *name, *awake, *profiles, *families, *samples, *cells;
};

#define KEY(member) offsetof(struct matrix_keys, member)

/* clang-format off */
static const struct conf_key matrix_table[] = {
	{"schema",   CONF_COUNT, KEY(schema),   true,  1, 1},
	{"name",     CONF_WORD,  KEY(name),     true,  0, 0},
	{"seed",     CONF_COUNT, KEY(seed),     false, 0, INT64_MAX},
	{"repeats",  CONF_COUNT, KEY(repeats),  false, 1, REPEATS_MAX},
	{"awake",    CONF_WORD,  KEY(awake),    false, 0, 0},
	{"profiles", CONF_WORDS, KEY(profiles), true,  1, ENTRY_ITEMS_MAX},
	{"families", CONF_WORDS, KEY(families), false, 1, FAMILIES_MAX},
	{"samples",  CONF_ANY,   KEY(samples),  false, 0, 0},
	{"cells",    CONF_MAPS,  KEY(cells),    true,  1, MATRIX_CELLS_MAX},
	{0},
};
/* clang-format on */

#define OF_A_PROFILE                                                                           \
	"is of a profile: a matrix names profiles, and 'rttlink fates FILE' reads one"

static const struct conf_elsewhere elsewhere[] = {
	{"rtt", OF_A_PROFILE},
	{"loss", OF_A_PROFILE},
	{"up", OF_A_PROFILE},
	{"loopback", OF_A_PROFILE},
	{0},
};

int
matrix_check_name(struct reading *reading, const struct conf_node *node, const char *what)
{
	static const char alphanumeric[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.";
	size_t len = strlen(node->text);

	if (strspn(node->text, alphanumeric) == len && !strchr("-_.", node->text[0]) &&
		len <= NAME_MAX_BYTES)
		return 0;
	return conf_error(&reading->doc, node, reading->err,
		"%s '%s': expected up to %d letters, digits, '-', '_' and '.', a letter or "
		"digit first",
		what, node->text, NAME_MAX_BYTES);
}

static int
is_profile(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > strlen(SUFFIX) && !strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX);
}

/* There is no such file: name the nearest there is. */
static int
unknown_profile(struct reading *reading, const struct conf_node *node)
{
	struct dirent **files = NULL;
	int count = scandir(reading->profile_folder, &files, is_profile, alphasort);
	const char **names;
	struct err what;

	if (count < 0) {
		err_sys(reading->err, "profile '%s': read folder %s", node->text,
			reading->profile_folder);
		return conf_place(&reading->doc, node, reading->err);
	}
	names = alloc_zero((size_t)count, sizeof(*names));
	for (int i = 0; i < count; i++) {
		files[i]->d_name[strlen(files[i]->d_name) - strlen(SUFFIX)] = '\0';
		names[i] = files[i]->d_name;
	}
	conf_unknown("profile", node->text, names, (size_t)count, &what);
	err_set(reading->err, "%s (in %s)", what.text, reading->profile_folder);
	for (int i = 0; i < count; i++)
		free(files[i]);
	free(files);
	free(names);
	return conf_place(&reading->doc, node, reading->err);
}

static int
read_profile(struct reading *reading, const struct conf_node *node)
{
	struct matrix *matrix = reading->matrix;
	char *file;
	int status;

	if (matrix_check_name(reading, node, "profile") < 0)
		return -1;
	for (size_t i = 0; i < matrix->profile_count; i++)
		if (!strcmp(matrix->profiles[i].name, node->text))
			return conf_error(&reading->doc, node, reading->err,
				"profile '%s' twice", node->text);
	file = alloc_printf("%s/%s" SUFFIX, reading->profile_folder, node->text);
	if (access(file, F_OK) < 0)
		status = unknown_profile(reading, node);
	else
		status = profile_read(
			file, &matrix->profiles[matrix->profile_count], reading->err);
	matrix->profile_count += !status;
	free(file);
	return status;
}

static int
read_profiles(struct reading *reading, const struct conf_node *node)
{
	size_t count;
	const struct conf_node *items = conf_items(node, &count);

	reading->matrix->profiles = alloc_zero(count, sizeof(*reading->matrix->profiles));
	for (size_t i = 0; i < count; i++)
		if (read_profile(reading, &items[i]) < 0)
			return -1;
	return 0;
}

static int
read_samples(struct reading *reading, const struct conf_node *node)
{
	const struct matrix *matrix = reading->matrix;
	const struct profile **profiles;
	int status;

	if (!node)
		return 0;
	reading->samples = node;
	profiles = alloc_zero(matrix->profile_count, sizeof(*profiles));
	for (size_t i = 0; i < matrix->profile_count; i++)
		profiles[i] = &matrix->profiles[i];
	status = samples_check(reading, node, profiles, matrix->profile_count);
	free(profiles);
	return status;
}

static int
read_awake(struct reading *reading, const struct conf_node *node)
{
	static const char *const words[] = {"auto", "on", "off"};

	if (!node || awake_parse(node->text, &reading->matrix->awake) == 0)
		return 0;
	conf_unknown("setting of 'awake'", node->text, words, 3, reading->err);
	return conf_value_error(&reading->doc, node, reading->err);
}

/* All but the cells. */
static int
read_top(struct reading *reading, struct matrix_keys *keys)
{
	struct matrix *matrix = reading->matrix;

	const struct conf_node *root = &reading->doc.root;

	if (conf_check_elsewhere(&reading->doc, root, elsewhere, reading->err) < 0 ||
		conf_fill(&reading->doc, root, matrix_table, keys, reading->err) < 0)
		return -1;
	if (matrix_check_name(reading, keys->name, "name") < 0)
		return -1;
	matrix->name = alloc_text(keys->name->text);
	matrix->seed = keys->seed.value;
	matrix->repeats = keys->repeats.value;
	if (read_awake(reading, keys->awake) < 0)
		return -1;
	if (read_profiles(reading, keys->profiles) < 0)
		return -1;
	if (keys->families && families_read(reading, keys->families, reading->families,
				      &reading->family_count) < 0)
		return -1;
	return read_samples(reading, keys->samples);
}

static int
read_entries(struct reading *reading, const struct conf_node *cells)
{
	size_t count, done = 0;
	const struct conf_node *items = conf_items(cells, &count);
	struct entry *entries = alloc_zero(count, sizeof(*entries));
	int status = 0;

	while (done < count && !status) {
		status = entry_read(reading, &items[done], &entries[done]);
		done++;
	}
	if (!status)
		status = matrix_expand(reading, entries, count);
	for (size_t i = 0; i < done; i++)
		entry_free(&entries[i]);
	free(entries);
	return status;
}

int
matrix_parse(const char *file, const char *text, size_t len, const char *profile_folder,
	const struct catalogue *catalogue, struct matrix *matrix, struct err *err)
{
	struct reading reading = {
		.catalogue = catalogue,
		.profile_folder = profile_folder,
		.matrix = matrix,
		.families = {4},
		.family_count = 1,
		.err = err,
	};
	struct matrix_keys keys = {.seed.value = MATRIX_SEED, .repeats.value = MATRIX_REPEATS};
	int status;

	*matrix = (struct matrix){0};
	if (conf_parse(file, text, len, &reading.doc, err) < 0)
		return -1;
	matrix->file = alloc_text(file);
	matrix->text = alloc_text_n(text, len);
	status = read_top(&reading, &keys);
	if (!status)
		status = read_entries(&reading, keys.cells);
	conf_free(&reading.doc);
	if (status)
		matrix_free(matrix);
	return status;
}

int
matrix_read(const char *file, const char *profile_folder, const struct catalogue *catalogue,
	struct matrix *matrix, struct err *err)
{
	struct buf text = {0};
	int status = -1;

	*matrix = (struct matrix){0};
	if (file_read(file, CONF_BYTES_MAX, &text, err) == 0)
		status = matrix_parse(file, buf_text(&text), text.len, profile_folder,
			catalogue, matrix, err);
	buf_free(&text);
	return status;
}

void
matrix_free(struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		cell_free(&matrix->cells[i]);
	for (size_t i = 0; i < matrix->expect_count; i++)
		expect_free(&matrix->expects[i]);
	for (size_t i = 0; i < matrix->profile_count; i++)
		profile_free(&matrix->profiles[i]);
	free(matrix->cells);
	free(matrix->expects);
	free(matrix->profiles);
	free(matrix->name);
	free(matrix->file);
	free(matrix->text);
	*matrix = (struct matrix){0};
}
