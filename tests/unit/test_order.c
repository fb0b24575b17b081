/* The order of a run: complete, interleaved, and decided by the seed alone. */
#include "run/matrix.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "check.h"

static struct turn *
order(size_t cells, int64_t repeats, int64_t seed)
{
	struct matrix matrix = {.seed = seed, .repeats = repeats, .cell_count = cells};
	size_t count;
	struct turn *turns = matrix_order(&matrix, &count);

	CHECK_INT(count, cells * (size_t)repeats);
	return turns;
}

static void
test_complete(void)
{
	enum { CELLS = 20, REPEATS = 5 };
	struct turn *turns = order(CELLS, REPEATS, 1);

	for (size_t repeat = 0; repeat < REPEATS; repeat++) {
		bool seen[CELLS] = {0};

		for (size_t i = 0; i < CELLS; i++) {
			const struct turn *turn = &turns[repeat * CELLS + i];

			CHECK_INT(turn->repeat, repeat + 1);
			CU_ASSERT_FATAL(turn->cell < CELLS);
			CU_ASSERT(!seen[turn->cell]);
			seen[turn->cell] = true;
		}
	}
	free(turns);
}

static void
test_seed(void)
{
	struct turn *one = order(50, 3, 7), *same = order(50, 3, 7);
	struct turn *longer = order(50, 4, 7), *other = order(50, 3, 8);
	int moved = 0, between_repeats = 0;

	for (size_t i = 0; i < 150; i++) {
		CHECK_INT(one[i].cell, same[i].cell);
		CHECK_INT(one[i].cell, longer[i].cell);
		moved += one[i].cell != other[i].cell;
	}
	for (size_t i = 0; i < 50; i++)
		between_repeats += one[i].cell != one[50 + i].cell;
	CHECK_BETWEEN(moved, 120, 150);
	CHECK_BETWEEN(between_repeats, 40, 50);
	free(one);
	free(same);
	free(longer);
	free(other);
}

/* Computed apart, in Python, from the published algorithms. The same on every machine: what the
 * manifest of a run made elsewhere says can be repeated. */
static void
test_known(void)
{
	static const size_t expected[] = {4, 1, 3, 0, 2, 0, 2, 3, 4, 1};
	struct turn *turns = order(5, 2, 1);

	for (size_t i = 0; i < 10; i++)
		CHECK_INT(turns[i].cell, expected[i]);
	free(turns);
}

/* Over many seeds every cell comes first about equally often. */
static void
test_uniform(void)
{
	int first[4] = {0};

	for (int64_t seed = 0; seed < 4000; seed++) {
		struct turn *turns = order(4, 1, seed);

		first[turns[0].cell]++;
		free(turns);
	}
	for (int i = 0; i < 4; i++)
		CHECK_BETWEEN(first[i], 890, 1110); /* 1000 +- 4 standard deviations */
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"every repeat has every cell once", test_complete},
		{"the seed decides, repeats differ", test_seed},
		{"a known order", test_known},
		{"no cell is favoured", test_uniform},
		CU_TEST_INFO_NULL,
	};

	return check_main("order", tests);
}
