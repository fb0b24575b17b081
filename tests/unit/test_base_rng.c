/* The generator against its authors' numbers, and its uses against their distributions. */
#include "check.h"

#include <stdbool.h>

#include "base/rng.h"

/* xoshiro256** from the state 1, 2, 3, 4: the vector of the reference implementation. */
static void
is_xoshiro(void)
{
	static const uint64_t expected[] = {UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240),
		UINT64_C(1215971899390074240), UINT64_C(1216172134540287360),
		UINT64_C(607988272756665600), UINT64_C(16172922978634559625),
		UINT64_C(8476171486693032832), UINT64_C(10595114339597558777),
		UINT64_C(2904607092377533576)};
	struct rng rng = {{1, 2, 3, 4}};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CHECK_INT(rng_next(&rng), expected[i]);
}

static void
seeds_give_sequences(void)
{
	struct rng a, b, c, d;
	int same_stream = 0, same_seed = 0;

	rng_seed(&a, 1, 0);
	rng_seed(&b, 1, 0);
	rng_seed(&c, 1, 1);
	rng_seed(&d, 2, 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t x = rng_next(&a);

		CU_ASSERT(x == rng_next(&b));
		same_seed += x == rng_next(&c);
		same_stream += x == rng_next(&d);
	}
	CHECK_INT(same_seed, 0);
	CHECK_INT(same_stream, 0);
}

/* 5 does not divide 2^64: a plain remainder would do here too, but not for 3 x 2^62. */
static void
below_is_uniform(void)
{
	uint64_t large = UINT64_C(3) << 62;
	int seen[5] = {0}, low = 0;
	struct rng rng;

	rng_seed(&rng, 1, 0);
	for (int i = 0; i < 100000; i++)
		seen[rng_below(&rng, 5)]++;
	for (int i = 0; i < 5; i++)
		CHECK_BETWEEN(seen[i], 19500, 20500);
	for (int i = 0; i < 30000; i++) {
		uint64_t x = rng_below(&rng, large);

		CU_ASSERT(x < large);
		low += x < large / 3;
	}
	CHECK_BETWEEN(low, 9700, 10300); /* with a bias: 15000 */
	CHECK_INT(rng_below(&rng, 1), 0);
}

static void
unit_is_uniform(void)
{
	double sum = 0, squares = 0;
	struct rng rng;

	rng_seed(&rng, 9, 9);
	for (int i = 0; i < 100000; i++) {
		double x = rng_unit(&rng);

		CU_ASSERT(x >= 0 && x < 1);
		sum += x;
		squares += x * x;
	}
	CHECK_BETWEEN(sum / 100000, 0.497, 0.503);
	CHECK_BETWEEN(squares / 100000, 0.330, 0.337);
}

/* The test vectors of the FNV draft. */
static void
hash_is_fnv1a(void)
{
	CHECK_INT(rng_hash(""), UINT64_C(0xcbf29ce484222325));
	CHECK_INT(rng_hash("a"), UINT64_C(0xaf63dc4c8601ec8c));
	CHECK_INT(rng_hash("foobar"), UINT64_C(0x85944171f73967e8));
	CHECK_INT(rng_hash("\xff") != rng_hash("\x7f"), true);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"is xoshiro256**", is_xoshiro},
		{"seeds give sequences", seeds_give_sequences},
		{"below is uniform", below_is_uniform},
		{"unit is uniform", unit_is_uniform},
		{"hash is FNV-1a", hash_is_fnv1a},
		CU_TEST_INFO_NULL,
	};

	return check_main("base rng", tests);
}
