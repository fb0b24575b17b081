/* Cross products: entries to cells, in the file's order. */
#include "run/entry.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "run/awake.h"

#define VARIANT_MAX 200 /* bytes; it becomes the name of a folder */

/* An entry while its variants are gone through. */
struct expansion {
	struct reading *reading;
	const struct entry *entry;
	size_t *place; /* of the current value on each axis */
	const struct conf_node *excludes;
	size_t exclude_count;
};

/* How many cells the entry makes before exclude:, or more than the limit. */
static size_t
count_cells(const struct entry *entry)
{
	size_t count = entry->profile_count * entry->family_count;

	for (size_t i = 0; i < entry->axis_count && count <= MATRIX_CELLS_MAX; i++)
		count *= entry->axes[i].count;
	return count;
}

static int
check_size(struct reading *reading, const struct entry *entries, size_t count, size_t *total)
{
	*total = 0;
	for (size_t i = 0; i < count; i++) {
		*total += count_cells(&entries[i]);
		if (*total > MATRIX_CELLS_MAX)
			return conf_error(&reading->doc, entries[i].at, reading->err,
				"the matrix expands to more than %d cells (before 'exclude')",
				MATRIX_CELLS_MAX);
	}
	return 0;
}

/* The current value of an option. */
static const char *
current(const struct expansion *expansion, const char *name)
{
	const struct axis *axis = entry_axis(expansion->entry, name);

	return axis->values[expansion->place[axis - expansion->entry->axes]].text;
}

static bool
matches(const struct expansion *expansion, const struct conf_node *condition)
{
	for (size_t i = 0; i < condition->count; i++)
		if (strcmp(current(expansion, condition->items[i].key),
			    condition->items[i].text))
			return false;
	return true;
}

static bool
is_excluded(const struct expansion *expansion)
{
	for (size_t i = 0; i < expansion->exclude_count; i++)
		if (matches(expansion, &expansion->excludes[i]))
			return true;
	return false;
}

/* To the next variant, the last axis turning fastest; false after the last. */
static bool
advance(struct expansion *expansion)
{
	const struct entry *entry = expansion->entry;

	for (size_t i = entry->axis_count; i-- > 0;) {
		if (++expansion->place[i] < entry->axes[i].count)
			return true;
		expansion->place[i] = 0;
	}
	return false;
}

static struct settings
current_settings(const struct expansion *expansion)
{
	const struct entry *entry = expansion->entry;
	struct settings settings = {0};

	for (size_t i = 0; i < entry->axis_count; i++)
		settings_add(&settings, entry->axes[i].at->key,
			entry->axes[i].values[expansion->place[i]].text);
	settings_sort(&settings);
	return settings;
}

/* "k=v;k=v" */
static char *
variant_name(const struct settings *settings)
{
	struct buf name = {0};

	for (size_t i = 0; i < settings->count; i++)
		buf_printf(&name, "%s%s=%s", i ? ";" : "", settings->items[i].name,
			settings->items[i].value);
	if (!settings->count)
		buf_puts(&name, "default");
	return name.data;
}

/* Pointers to those of the entry's expectations that apply to the cell. */
static void
link_expects(const struct matrix *matrix, const struct entry *entry, struct cell *cell)
{
	const struct expectation **expects = alloc_zero(entry->expect_count, sizeof(*expects));

	for (size_t i = 0; i < entry->expect_count; i++) {
		const struct expectation *expect = &matrix->expects[entry->expect_first + i];

		if (settings_match(&cell->options, &expect->where) &&
			expect_has_profile(expect, cell->profile->name))
			expects[cell->expect_count++] = expect;
	}
	cell->expects = expects;
}

/* What the cell says of the cores; checked when it was read. */
static enum awake_setting
current_awake(const struct expansion *expansion)
{
	enum awake_setting setting = AWAKE_AUTO;

	if (entry_axis(expansion->entry, AWAKE_OPTION))
		awake_parse(current(expansion, AWAKE_OPTION), &setting);
	return setting;
}

static void
add_cell(const struct expansion *expansion, size_t profile, int family)
{
	const struct entry *entry = expansion->entry;
	struct matrix *matrix = expansion->reading->matrix;
	struct cell *cell = &matrix->cells[matrix->cell_count++];

	*cell = (struct cell){
		.probe = alloc_text(entry->probe),
		.command = entry->command ? alloc_text(entry->command) : NULL,
		.image = entry->image ? alloc_text(entry->image) : NULL,
		.loopback = entry->desc && entry->desc->loopback
				    ? alloc_text(entry->desc->loopback)
				    : NULL,
		.options = current_settings(expansion),
		.profile = entry->profiles[profile],
		.family = family,
		.samples = entry->samples[profile],
		.awake = current_awake(expansion),
	};
	cell->variant = variant_name(&cell->options);
	cell->id = alloc_printf(
		"%s/%s/%s/%d", cell->probe, cell->variant, cell->profile->name, family);
	cell->deadline_ns = entry->deadline_ns ? entry->deadline_ns
					       : cell_deadline_ns(cell->profile, cell->samples);
	link_expects(matrix, entry, cell);
}

/* What only the probe knows: does it take these options together? */
static int
check_cell(const struct expansion *expansion, const struct cell *cell)
{
	const struct probe_desc *desc = expansion->entry->desc;
	const struct settings *settings = &cell->options;
	const char **options = alloc_zero(settings->count + 1, sizeof(*options));
	size_t count = 0;
	struct err reason;
	int status;

	for (size_t i = 0; i < settings->count; i++)
		if (strcmp(settings->items[i].name, AWAKE_OPTION))
			options[count++] = alloc_printf(
				"%s=%s", settings->items[i].name, settings->items[i].value);
	status = probe_desc_check_all(desc, cell->samples, options, &reason);
	if (status < 0)
		conf_error(&expansion->reading->doc, expansion->entry->at,
			expansion->reading->err, "variant %s: %s", cell->variant, reason.text);
	for (size_t i = 0; i < count; i++)
		free((void *)(uintptr_t)options[i]);
	free(options);
	return status;
}

/* Once for each number of samples of the variant whose cells begin with number `first`. */
static int
check_variant(const struct expansion *expansion, size_t first)
{
	const struct matrix *matrix = expansion->reading->matrix;
	int64_t checked = 0;

	if (!expansion->entry->desc || !expansion->reading->catalogue->ask_commands)
		return 0;
	for (size_t i = first; i < matrix->cell_count; i++) {
		const struct cell *cell = &matrix->cells[i];

		if (cell->samples != checked && check_cell(expansion, cell) < 0)
			return -1;
		checked = cell->samples;
	}
	return 0;
}

static int
add_variant(const struct expansion *expansion)
{
	const struct entry *entry = expansion->entry;
	const struct matrix *matrix = expansion->reading->matrix;
	size_t first = matrix->cell_count;

	for (size_t i = 0; i < entry->profile_count; i++)
		for (size_t j = 0; j < entry->family_count; j++)
			add_cell(expansion, i, entry->families[j]);
	if (strlen(matrix->cells[first].variant) > VARIANT_MAX)
		return conf_error(&expansion->reading->doc, entry->at, expansion->reading->err,
			"the options of a variant take more than %d bytes: %.60s...",
			VARIANT_MAX, matrix->cells[first].variant);
	return check_variant(expansion, first);
}

/* What was written for a reason must have had an effect. (An exclude: always has: it is made of
 * values that the cross product contains.) */
static int
check_effects(const struct expansion *expansion, size_t first)
{
	struct reading *reading = expansion->reading;
	const struct entry *entry = expansion->entry;
	const struct matrix *matrix = reading->matrix;

	if (matrix->cell_count == first)
		return conf_error(&reading->doc, entry->at, reading->err,
			"this expands to no cell: 'exclude' leaves no variant");
	for (size_t i = 0; i < entry->expect_count; i++) {
		const struct expectation *expect = &matrix->expects[entry->expect_first + i];
		bool used = false;

		for (size_t j = first; j < matrix->cell_count && !used; j++)
			used = settings_match(&matrix->cells[j].options, &expect->where);
		if (!used)
			return err_set(reading->err,
				"%s:%d:%d: the 'where' of this expectation matches no cell",
				reading->doc.file, expect->line, expect->column);
	}
	return 0;
}

static int
expand_entry(struct reading *reading, const struct entry *entry)
{
	struct expansion expansion = {.reading = reading, .entry = entry};
	size_t first = reading->matrix->cell_count;
	int status = 0;

	if (entry->exclude)
		expansion.excludes = conf_items(entry->exclude, &expansion.exclude_count);
	expansion.place = alloc_zero(entry->axis_count, sizeof(*expansion.place));
	do {
		if (!is_excluded(&expansion))
			status = add_variant(&expansion);
	} while (!status && advance(&expansion));
	if (!status)
		status = check_effects(&expansion, first);
	free(expansion.place);
	return status;
}

struct owned_id {
	const char *id;
	size_t cell; /* its number: keeps the file's order among equals */
	size_t entry;
};

static int
by_id(const void *a, const void *b)
{
	const struct owned_id *left = a, *right = b;
	int order = strcmp(left->id, right->id);

	return order ? order : (left->cell > right->cell) - (left->cell < right->cell);
}

/* Two cells of one name would share a folder. `ends[i]` is where the cells of entry i end. */
static int
check_unique(struct reading *reading, const struct entry *entries, const size_t *ends)
{
	const struct matrix *matrix = reading->matrix;
	struct owned_id *ids = alloc_zero(matrix->cell_count, sizeof(*ids));
	int status = 0;

	for (size_t i = 0, entry = 0; i < matrix->cell_count; i++) {
		while (i >= ends[entry])
			entry++;
		ids[i] = (struct owned_id){matrix->cells[i].id, i, entry};
	}
	if (matrix->cell_count)
		qsort(ids, matrix->cell_count, sizeof(*ids), by_id);
	for (size_t i = 1; i < matrix->cell_count && !status; i++)
		if (!strcmp(ids[i - 1].id, ids[i].id))
			status = conf_error(&reading->doc, entries[ids[i].entry].at,
				reading->err, "cell '%s' is already made by line %d", ids[i].id,
				entries[ids[i - 1].entry].at->line);
	free(ids);
	return status;
}

int
matrix_expand(struct reading *reading, const struct entry *entries, size_t count)
{
	struct matrix *matrix = reading->matrix;
	size_t *ends, total;
	int status = 0;

	if (check_size(reading, entries, count, &total) < 0)
		return -1;
	matrix->cells = alloc_zero(total, sizeof(*matrix->cells));
	ends = alloc_zero(count, sizeof(*ends));
	for (size_t i = 0; i < count && !status; i++) {
		status = expand_entry(reading, &entries[i]);
		ends[i] = matrix->cell_count;
	}
	if (!status)
		status = check_unique(reading, entries, ends);
	free(ends);
	return status;
}
