/* What a matrix file says, read and checked, on its way to cells. Only the matrix_*.c files,
 * entry.c and expect.c share this. */
#ifndef RUN_ENTRY_H
#define RUN_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/doc.h"
#include "conf/table.h"
#include "run/catalogue.h"
#include "run/matrix.h"

#define FAMILIES_MAX 2
#define ENTRY_ITEMS_MAX 1000 /* of a list here: keeps checks on it quick */

/* The file at hand, and what its top says for all entries. */
struct reading {
	struct conf_doc doc;
	const struct catalogue *catalogue;
	const char *profile_folder;
	struct matrix *matrix;
	const struct conf_node *samples; /* a number, or a mapping from profile to number */
	int families[FAMILIES_MAX];
	size_t family_count;
	struct err *err;
};

/* One option of an entry and the values it takes: one from set:, any number from vary:. */
struct axis {
	const struct conf_node *at; /* its key */
	const struct conf_node *values;
	size_t count;
};

/* One item under cells:. */
struct entry {
	const struct conf_node *at;
	const char *probe;
	char *command;     /* to be executed as it stands; owned; NULL: our own probe */
	const char *image; /* NULL: none */
	struct probe_desc
		*own; /* what the command or image says of itself; owned; NULL: nothing */
	const struct probe_desc
		*desc;     /* of our probe, or `own`; NULL: unknown, nothing is checked */
	struct axis *axes; /* in the file's order */
	size_t axis_count;
	const struct conf_node *exclude; /* may be NULL */
	const struct profile **profiles;
	int64_t *samples; /* a repeat, for each of the profiles */
	size_t profile_count;
	int families[FAMILIES_MAX];
	size_t family_count;
	int64_t deadline_ns;               /* 0: cell_deadline_ns() */
	const struct conf_node *expect;    /* may be NULL */
	size_t expect_first, expect_count; /* among the matrix's */
};

/* Read the mapping `node` under cells:. -1 with reading->err set; entry_free() in any case. */
int entry_read(struct reading *reading, const struct conf_node *node, struct entry *entry);
void entry_free(struct entry *entry);

/* The options under set: and vary: (each may be NULL), then the conditions under exclude:. */
int entry_read_axes(struct reading *reading, const struct conf_node *set,
	const struct conf_node *vary, struct entry *entry);
int entry_check_exclude(struct reading *reading, const struct entry *entry);

/* The axis of that option, or NULL. */
const struct axis *entry_axis(const struct entry *entry, const char *name);

/* Check that every pair of the mapping `node` is an option of the entry with one of its values:
 * the condition of an exclude: or a where:. */
int entry_check_condition(
	struct reading *reading, const struct entry *entry, const struct conf_node *node);

/* A list of address families, or one. */
int families_read(struct reading *reading, const struct conf_node *node,
	int families[static FAMILIES_MAX], size_t *count);

/* Check a samples: key (a number, or numbers for some of these profiles) and fill
 * entry->samples from its `own` one (may be NULL), else from the matrix's. */
int samples_check(struct reading *reading, const struct conf_node *node,
	const struct profile *const *profiles, size_t count);
int samples_read(struct reading *reading, const struct conf_node *own, struct entry *entry);

/* Append the entry's expectations to the matrix's. */
int expect_read(struct reading *reading, struct entry *entry);
void expect_free(struct expectation *expect);

/* Does it apply at that profile? */
bool expect_has_profile(const struct expectation *expect, const char *profile);

/* Copies name and value; settings_sort() once all are added. */
void settings_add(struct settings *settings, const char *name, const char *value);
void settings_sort(struct settings *settings);
void settings_free(struct settings *settings);

/* Are all of `some` among `all`? Both are sorted. */
bool settings_match(const struct settings *all, const struct settings *some);

void cell_free(struct cell *cell);

/* Append the cells of all entries to the matrix's, with the expectations that apply to each. */
int matrix_expand(struct reading *reading, const struct entry *entries, size_t count);

/* What may be a folder's or a file's name: up to 48 letters, digits, '-', '_' and '.', the
 * first a letter or digit. -1 with an error at the text `node`, which calls it a `what`, else.
 */
int matrix_check_name(struct reading *reading, const struct conf_node *node, const char *what);

#endif
