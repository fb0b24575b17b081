/* A growable byte buffer that is always NUL-terminated. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise, then only through the functions below. `data` is owned by the buffer and
 * NULL until something was added. Running out of memory ends the program (see alloc.h). */
struct buf {
	char *data;
	size_t len;
	size_t cap;
};

void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_puts(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *buf, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Room for at least `len` more bytes behind the data; the caller adds to `len` what it used. */
char *buf_reserve(struct buf *buf, size_t len);

/* Forget the content, keep the memory. */
void buf_clear(struct buf *buf);
void buf_free(struct buf *buf);

/* The content as a C string; "" when empty. Valid until the next call on `buf`. */
const char *buf_text(const struct buf *buf);

#endif
