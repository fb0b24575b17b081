/* xoshiro256**: public-domain algorithm, written from its paper. */
#include "base/rng.h"

static uint64_t
splitmix(uint64_t *x)
{
	uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void
rng_seed(struct rng *rng, uint64_t seed, uint64_t stream)
{
	uint64_t x = stream;

	x = seed ^ splitmix(&x);
	for (int i = 0; i < 4; i++)
		rng->state[i] = splitmix(&x);
}

static uint64_t
rotate(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

uint64_t
rng_next(struct rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t
rng_below(struct rng *rng, uint64_t bound)
{
	uint64_t reject_below = -bound % bound; /* 2^64 mod bound */
	uint64_t x;

	do
		x = rng_next(rng);
	while (x < reject_below);
	return x % bound;
}

double
rng_unit(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1.0p-53;
}

uint64_t
rng_hash(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}
