/* A growable byte buffer. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

char *
buf_reserve(struct buf *buf, size_t len)
{
	size_t cap = buf->cap ? buf->cap : 128;

	while (cap < buf->len + len + 1)
		cap *= 2;
	if (cap != buf->cap) {
		buf->data = alloc_resize(buf->data, cap, 1);
		buf->cap = cap;
	}
	buf->data[buf->len] = '\0'; /* whoever reads nothing into it still has a string */
	return buf->data + buf->len;
}

void
buf_add(struct buf *buf, const void *bytes, size_t len)
{
	char *end = buf_reserve(buf, len);

	if (len)
		memcpy(end, bytes, len);
	end[len] = '\0';
	buf->len += len;
}

void
buf_puts(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void
buf_vprintf(struct buf *buf, const char *fmt, va_list args)
{
	va_list again;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	if (len >= 0) {
		vsnprintf(buf_reserve(buf, (size_t)len), (size_t)len + 1, fmt, again);
		buf->len += (size_t)len;
	}
	va_end(again);
}

void
buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	buf_vprintf(buf, fmt, args);
	va_end(args);
}

void
buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

void
buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){0};
}

const char *
buf_text(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}
