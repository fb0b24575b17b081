/* Which bytes may be in a file of ours: one line of sight before the YAML parser sees them. */
#ifndef CONF_UTF8_H
#define CONF_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Decode one character of at most `len` bytes into *code; returns its length, or 0 when it is
 * not UTF-8 (RFC 3629: shortest form, no surrogates, at most U+10FFFF). */
size_t utf8_decode(const char *text, size_t len, uint32_t *code);

/* Is it a control character or a line separator: anything a terminal or a CSV file could take
 * for more than text? Tab and newline are. */
bool utf8_is_control(uint32_t code);

/* Check a whole file: UTF-8, no control characters but tab, CR and LF, no tab before the first
 * other character of a line. -1 with "file:line:column: message". */
int utf8_check(const char *file, const char *text, size_t len, struct err *err);

#endif
