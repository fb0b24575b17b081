/* Two-level bootstrap of the median. */
#include "stat/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define DRAWN_MAX 128               /* samples up to which a round draws each of them */
#define TABLE_MAX ((size_t)1 << 20) /* entries of the table of counts */
#define CUT (STAT_ROUNDS / 40)      /* 2.5% of the rounds at either end */

struct bootstrap {
	const struct stat_sorted *sorted;
	struct rng *rng;
	size_t *size;  /* samples of each repeat */
	size_t *times; /* how often this round drew each repeat */
	size_t total;  /* samples this round draws */

	/* Few samples: the places of each repeat's samples in the sorted order, repeat after
	 * repeat (from `start`), and how often this round drew each place. */
	size_t *place, *start, *drawn;

	/* Many: below[g * repeats + r] samples of repeat r are at or below grid point g, which
	 * is the value at place (g + 1) * count / grid - 1. */
	uint32_t *below;
	size_t grid;
};

static void
draw_repeats(struct bootstrap *b)
{
	size_t repeats = b->sorted->repeats;

	memset(b->times, 0, repeats * sizeof(*b->times));
	b->total = 0;
	for (size_t i = 0; i < repeats; i++) {
		size_t repeat = (size_t)rng_below(b->rng, repeats);

		b->times[repeat]++;
		b->total += b->size[repeat];
	}
}

static size_t
median_rank(const struct bootstrap *b)
{
	return (b->total + 1) / 2;
}

/* The place of the median of one round, every sample drawn. */
static size_t
round_drawn(struct bootstrap *b)
{
	size_t seen = 0, at = 0;

	draw_repeats(b);
	memset(b->drawn, 0, b->sorted->count * sizeof(*b->drawn));
	for (size_t r = 0; r < b->sorted->repeats; r++)
		for (size_t i = 0; i < b->times[r] * b->size[r]; i++)
			b->drawn[b->place[b->start[r] + rng_below(b->rng, b->size[r])]]++;
	for (;; at++) {
		seen += b->drawn[at];
		if (seen >= median_rank(b))
			return at;
	}
}

/* Close to normal: the sum of 12 uniform numbers. The tails end at 6, and no logarithm, whose
 * last bit differs between machines, is needed. */
static double
draw_normal(struct rng *rng)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += rng_unit(rng);
	return sum;
}

/* Does a round whose luck is `normal` have its median at or below grid point `g`? */
static bool
reaches(const struct bootstrap *b, size_t g, double normal)
{
	const uint32_t *below = b->below + g * b->sorted->repeats;
	double mean = 0, variance = 0;

	for (size_t r = 0; r < b->sorted->repeats; r++) {
		double share = (double)below[r] / (double)b->size[r];
		double draws = (double)(b->times[r] * b->size[r]);

		mean += draws * share;
		variance += draws * share * (1 - share);
	}
	return mean - (double)median_rank(b) + 0.5 >= normal * sqrt(variance);
}

/* The grid point of the median of one round. */
static size_t
round_bisected(struct bootstrap *b)
{
	size_t low = 0, high = b->grid - 1;
	double normal;

	draw_repeats(b);
	normal = draw_normal(b->rng);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reaches(b, middle, normal))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void
prepare_drawn(struct bootstrap *b)
{
	const struct stat_sorted *sorted = b->sorted;
	size_t *next = alloc_zero(sorted->repeats, sizeof(*next));

	b->place = alloc_zero(sorted->count, sizeof(*b->place));
	b->start = alloc_zero(sorted->repeats, sizeof(*b->start));
	b->drawn = alloc_zero(sorted->count, sizeof(*b->drawn));
	for (size_t r = 1; r < sorted->repeats; r++)
		next[r] = b->start[r] = b->start[r - 1] + b->size[r - 1];
	for (size_t i = 0; i < sorted->count; i++)
		b->place[next[sorted->repeat[i]]++] = i;
	free(next);
}

static size_t
grid_place(const struct bootstrap *b, size_t g)
{
	return (g + 1) * b->sorted->count / b->grid - 1;
}

static void
prepare_bisected(struct bootstrap *b)
{
	const struct stat_sorted *sorted = b->sorted;
	size_t repeats = sorted->repeats, i = 0;
	uint32_t *so_far = alloc_zero(repeats, sizeof(*so_far));

	b->grid = sorted->count * repeats > TABLE_MAX ? TABLE_MAX / repeats : sorted->count;
	if (b->grid == 0)
		b->grid = 1;
	b->below = alloc_zero(b->grid * repeats, sizeof(*b->below));
	for (size_t g = 0; g < b->grid; g++) {
		while (i <= grid_place(b, g))
			so_far[sorted->repeat[i++]]++;
		memcpy(b->below + g * repeats, so_far, repeats * sizeof(*so_far));
	}
	free(so_far);
}

static int
compare(const void *left, const void *right)
{
	size_t a = *(const size_t *)left, b = *(const size_t *)right;

	return (a > b) - (a < b);
}

struct stat_interval
stat_median_interval(const struct stat_sorted *sorted, struct rng *rng)
{
	struct bootstrap b = {.sorted = sorted, .rng = rng};
	bool drawn = sorted->count <= DRAWN_MAX;
	size_t medians[STAT_ROUNDS];

	if (sorted->count < 2)
		return (struct stat_interval){0};
	b.size = alloc_zero(sorted->repeats, sizeof(*b.size));
	b.times = alloc_zero(sorted->repeats, sizeof(*b.times));
	for (size_t i = 0; i < sorted->count; i++)
		b.size[sorted->repeat[i]]++;
	if (drawn)
		prepare_drawn(&b);
	else
		prepare_bisected(&b);
	for (size_t i = 0; i < STAT_ROUNDS; i++)
		medians[i] = drawn ? round_drawn(&b) : grid_place(&b, round_bisected(&b));
	qsort(medians, STAT_ROUNDS, sizeof(*medians), compare);
	free(b.size);
	free(b.times);
	free(b.place);
	free(b.start);
	free(b.drawn);
	free(b.below);
	return (struct stat_interval){true, sorted->values[medians[CUT - 1]],
		sorted->values[medians[STAT_ROUNDS - CUT]]};
}
