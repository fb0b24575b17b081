/* A matrix file and the cells it expands to: probe x variant x profile x address family. */
#ifndef RUN_MATRIX_H
#define RUN_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "link/profile.h"
#include "run/catalogue.h"

#define MATRIX_CELLS_MAX 10000
#define MATRIX_SEED 1    /* when the file says none */
#define MATRIX_REPEATS 5 /* the same */

/* Are the cores to be kept out of idle while a cell runs? See run/awake.h. */
enum awake_setting { AWAKE_AUTO, AWAKE_ON, AWAKE_OFF };

struct setting {
	char *name;
	char *value;
};

struct settings {
	struct setting *items; /* sorted by name, names unique */
	size_t count;
};

enum expect_kind {
	EXPECT_RTTS,           /* low <= p50 / measured RTT <= high */
	EXPECT_EQUALS,         /* every repeat's value (count) or the p50 is `low` */
	EXPECT_EQUALS_SAMPLES, /* … is the cell's number of samples a repeat */
	EXPECT_BETWEEN,        /* low <= p50 <= high, in the metric's unit */
};

struct expectation {
	char *metric;
	struct settings where; /* applies to cells whose options have all of these */
	char **profiles;       /* names; none: every profile */
	size_t profile_count;
	enum expect_kind kind;
	double low, high;
	int line, column; /* in the matrix file */
};

struct cell {
	char *id;      /* PROBE/VARIANT/PROFILE/FAMILY */
	char *probe;   /* name in the catalogue, or of the `command:` cell */
	char *command; /* a program that keeps the process contract, where there are processes
			*/
	char *image; /* … and an image, where there are containers; neither: our own probe */
	char *loopback; /* the probe's reason why it is skipped at a linked profile; or NULL */
	char *variant;  /* k=v;k=v sorted by key; "default" when nothing is set */
	struct settings options;
	const struct profile *profile; /* owned by the matrix */
	int family;                    /* 4 or 6 */
	int64_t samples;               /* a repeat */
	int64_t deadline_ns;           /* for one repeat */
	enum awake_setting awake;      /* AWAKE_AUTO: as the matrix says */
	const struct expectation *const
		*expects; /* those that apply; array owned, items the matrix's */
	size_t expect_count;
};

struct matrix {
	char *name;
	char *file;
	char *text; /* the file's bytes, for the manifest */
	int64_t seed;
	int64_t repeats;
	enum awake_setting awake;
	struct profile *profiles; /* in the file's order */
	size_t profile_count;
	struct expectation *expects;
	size_t expect_count;
	struct cell *cells; /* in the file's order: cells:, variants, profiles, families */
	size_t cell_count;
};

/* Read and check `file` and the profiles it names (NAME -> `profile_folder`/NAME.yaml), and
 * expand it. Nothing is started. -1 with "file:line:column: message" of the first fault. A key
 * that takes a list takes a single item too. Every name is checked against the catalogue,
 * except the options and metrics of an entry with a `command:`, a program found as execvp()
 * does. */
int matrix_read(const char *file, const char *profile_folder, const struct catalogue *catalogue,
	struct matrix *matrix, struct err *err);

/* The same from memory: `len` bytes and a NUL behind them; `file` is only a name. */
int matrix_parse(const char *file, const char *text, size_t len, const char *profile_folder,
	const struct catalogue *catalogue, struct matrix *matrix, struct err *err);

void matrix_free(struct matrix *matrix);

/* The deadline of one repeat where the file gives none: 10 s, and for each sample 8 RTTs, twice
 * the jitter of both directions, 10 ms of work, and 24 s times the loss of both directions
 * (eight packets, each of which may cost a retransmission after 3 s). At most a day. Nothing is
 * allowed for bulk at a low rate: give such entries a `deadline:`. */
int64_t cell_deadline_ns(const struct profile *profile, int64_t samples);

/* About how long one repeat takes, for --dry-run: 0.15 s for namespaces and link, and 4 RTTs a
 * sample (50 us more for each: the processes' own time). Where the option `workers` is set, so
 * many samples share their RTTs. */
int64_t cell_estimate_ns(const struct cell *cell);

/* Keep the cells whose id matches any of `select` (none: all) and none of `exclude`; fnmatch
 * patterns in which * does not stop at a slash. -1 when a pattern matches nothing, or all are
 * gone. */
int matrix_select(struct matrix *matrix, const char *const *select, size_t select_count,
	const char *const *exclude, size_t exclude_count, struct err *err);

/* Keep every N-th cell, beginning with the I-th, of "I/N" (1 <= I <= N). -1 on other text and
 * when nothing is left. */
int matrix_shard(struct matrix *matrix, const char *shard, struct err *err);

/* One planned execution: repeat number `repeat` (from 1) of cell number `cell`. */
struct turn {
	size_t cell;
	int64_t repeat;
};

/* The order of the run: every repeat is one seeded shuffle of all cells, so that repeats of a
 * cell lie apart. cell_count x repeats turns; free() the array. Same seed, same order. */
struct turn *matrix_order(const struct matrix *matrix, size_t *count);

#endif
