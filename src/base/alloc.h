/* Memory that is there or ends the program: the one failure nobody here can act on. */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

/* Zeroed memory for `count` things of `size` bytes; free() it. Never NULL. */
void *alloc_zero(size_t count, size_t size);

/* realloc() with an overflow check; new bytes are not zeroed. Never NULL. */
void *alloc_resize(void *old, size_t count, size_t size);

/* A copy of `text` (of its first `len` bytes); free() it. Never NULL. */
char *alloc_text(const char *text);
char *alloc_text_n(const char *text, size_t len);

/* printf() into a string of its own; free() it. Never NULL. */
char *alloc_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The array `items` grown, if need be, to hold item number `count` (from 0); *cap is kept by
 * this function and starts at 0. Returns the array, moved or not. */
void *alloc_grow(void *items, size_t count, size_t *cap, size_t size);

#endif
