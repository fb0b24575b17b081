/* A small seeded generator: the same seed gives the same numbers on every machine. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* xoshiro256** 1.0 (Blackman and Vigna, 2018), seeded through splitmix64 as its authors advise.
 */
struct rng {
	uint64_t state[4];
};

/* Start a sequence. `stream` gives independent sequences from one seed (direction, repeat …).
 */
void rng_seed(struct rng *rng, uint64_t seed, uint64_t stream);

uint64_t rng_next(struct rng *rng);

/* Uniform in 0 .. bound - 1, without modulo bias; `bound` must not be 0. */
uint64_t rng_below(struct rng *rng, uint64_t bound);

/* Uniform in [0, 1), with 53 bits. */
double rng_unit(struct rng *rng);

/* A 64-bit hash of `text` (FNV-1a), to draw a stream number from a name. */
uint64_t rng_hash(const char *text);

#endif
