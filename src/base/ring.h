/* A queue of numbers with a fixed room, taken from either end. */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <stddef.h>

struct ring {
	size_t *items;
	size_t cap, first, count;
};

/* Room for `cap` numbers; more must never be in it. Free it with ring_free(). */
void ring_init(struct ring *ring, size_t cap);
void ring_free(struct ring *ring);

void ring_push(struct ring *ring, size_t item);

/* The oldest and the newest; the ring must not be empty. */
size_t ring_pop_first(struct ring *ring);
size_t ring_pop_last(struct ring *ring);

#endif
