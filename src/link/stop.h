/* When a program that holds a link is to end: on SIGTERM, SIGINT, the end of stdin, or after a
 * time of its own. */
#ifndef LINK_STOP_H
#define LINK_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Blocks the signals. Returns a descriptor that can be read when one came, stdin has something
 * to say, or `limit_ns` (0: never) have passed; -1 on failure. A stdin that can't be waited for
 * (a file, /dev/null) is left alone. */
int stop_open(int64_t limit_ns, struct err *err);

/* Was that the end, rather than a word on stdin? */
bool stop_is_meant(int stop);

#define STOP_WORDS_SIZE 256

/* What stdin said and nobody has taken yet. Zero-initialise. */
struct stop_words {
	char text[STOP_WORDS_SIZE];
	size_t len;
};

/* The same; what stdin said is added to `words`. */
bool stop_hear(int stop, struct stop_words *words);

/* Take the next whole line, without its newline, out of `words`. false when there is none yet.
 */
bool stop_next_word(struct stop_words *words, char word[static STOP_WORDS_SIZE]);

#endif
