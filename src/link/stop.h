/* When a program that holds a link is to end: on SIGTERM, SIGINT, or the end of stdin. */
#ifndef LINK_STOP_H
#define LINK_STOP_H

#include <stdbool.h>

#include "base/err.h"

/* Blocks the signals. Returns a descriptor that can be read when one came or stdin has
 * something to say; -1 on failure. A stdin that can't be waited for (a file, /dev/null) is left
 * alone. */
int stop_open(struct err *err);

/* Was that the end, rather than a word on stdin? */
bool stop_is_meant(int stop);

#endif
