/* Allocation that cannot fail: out of memory is fatal with exit status 1. */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *
or_die(void *memory)
{
	if (memory)
		return memory;
	fputs("out of memory\n", stderr);
	exit(1);
}

void *
alloc_zero(size_t count, size_t size)
{
	return or_die(calloc(count ? count : 1, size ? size : 1));
}

void *
alloc_resize(void *old, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size)
		return or_die(NULL);
	return or_die(realloc(old, count && size ? count * size : 1));
}

char *
alloc_text(const char *text)
{
	return or_die(strdup(text));
}

char *
alloc_text_n(const char *text, size_t len)
{
	return or_die(strndup(text, len));
}

char *
alloc_printf(const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	return or_die(len < 0 ? NULL : text);
}

void *
alloc_grow(void *items, size_t count, size_t *cap, size_t size)
{
	if (count < *cap)
		return items;
	*cap = *cap ? *cap * 2 : 16;
	return alloc_resize(items, *cap, size);
}
