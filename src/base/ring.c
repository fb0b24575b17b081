/* A ring of numbers. */
#include "base/ring.h"

#include <stdlib.h>

#include "base/alloc.h"

void
ring_init(struct ring *ring, size_t cap)
{
	cap += cap == 0; /* the remainder needs a divisor */
	*ring = (struct ring){.items = alloc_zero(cap, sizeof(*ring->items)), .cap = cap};
}

void
ring_free(struct ring *ring)
{
	free(ring->items);
	*ring = (struct ring){0};
}

void
ring_push(struct ring *ring, size_t item)
{
	ring->items[(ring->first + ring->count++) % ring->cap] = item;
}

size_t
ring_pop_first(struct ring *ring)
{
	size_t item = ring->items[ring->first];

	ring->first = (ring->first + 1) % ring->cap;
	ring->count--;
	return item;
}

size_t
ring_pop_last(struct ring *ring)
{
	return ring->items[(ring->first + --ring->count) % ring->cap];
}
