/* The order of a run: seeded shuffles, one a repeat. */
#include "run/matrix.h"

#include "base/alloc.h"
#include "base/rng.h"

/* Fisher and Yates, from the end. */
static void
shuffle(struct turn *turns, size_t count, struct rng *rng)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = (size_t)rng_below(rng, i);
		struct turn swap = turns[i - 1];

		turns[i - 1] = turns[other];
		turns[other] = swap;
	}
}

struct turn *
matrix_order(const struct matrix *matrix, size_t *count)
{
	size_t cells = matrix->cell_count, repeats = (size_t)matrix->repeats;
	struct turn *turns = alloc_zero(cells * repeats, sizeof(*turns));

	for (size_t repeat = 0; repeat < repeats; repeat++) {
		struct turn *round = turns + repeat * cells;
		struct rng rng;

		for (size_t i = 0; i < cells; i++)
			round[i] = (struct turn){i, (int64_t)repeat + 1};
		/* A stream a repeat: more repeats leave the earlier ones' order alone. */
		rng_seed(&rng, (uint64_t)matrix->seed, (uint64_t)repeat + 1);
		shuffle(round, cells, &rng);
	}
	*count = cells * repeats;
	return turns;
}
