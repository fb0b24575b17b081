/* Error text that library code fills in and only a program's top level prints. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
err_set(struct err *err, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return -1;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return -1;
}

#define REASON_MAX ((size_t)128) /* longer than any strerror() */

/* ": text" at the end; when there is no room for it, what stands there makes some. */
static void
append(struct err *err, const char *text)
{
	size_t used = strlen(err->text), len = strlen(text);
	size_t need = sizeof(": ") + (len < REASON_MAX ? len : REASON_MAX);
	size_t most = sizeof(err->text) - need;

	if (used > most) {
		used = most;
		memcpy(err->text + used - 3, "...", 3);
	}
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", text);
}

int
err_sys(struct err *err, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	if (!err)
		return -1;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	append(err, strerror(saved));
	errno = saved;
	return -1;
}

int
err_prefix(struct err *err, const char *fmt, ...)
{
	struct err old;
	va_list args;

	if (!err)
		return -1;
	old = *err;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	append(err, old.text);
	return -1;
}
