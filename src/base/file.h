/* Whole files: read, written so that a reader never sees half of one, and folders. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* All of the file at `path`, appended to `out`; at most `max` bytes, more is an error. */
int file_read(const char *path, size_t max, struct buf *out, struct err *err);

/* Write `len` bytes to `path` under a temporary name in the same folder, flush to disk, and
 * rename. On failure the file that was there before is untouched and nothing else is left. */
int file_write(const char *path, const void *bytes, size_t len, struct err *err);

/* mkdir -p; an existing folder is no failure. */
int file_mkdirs(const char *path, struct err *err);

#endif
