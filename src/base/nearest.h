/* "Did you mean …?": the known name that is closest to a mistyped one. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* One of the `count` names, or NULL when none is close enough to be worth suggesting: an edit
 * distance (with swaps of neighbours) of at most a third of the word, and at least 2. */
const char *nearest_name(const char *word, const char *const *names, size_t count);

#endif
