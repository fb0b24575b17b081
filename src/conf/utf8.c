/* Byte-level checks of a file, so that positions and texts are what a reader sees. */
#include "conf/utf8.h"

size_t
utf8_decode(const char *text, size_t len, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)text[0];
	size_t size = first < 0x80   ? 1
		      : first < 0xc0 ? 0
		      : first < 0xe0 ? 2
		      : first < 0xf0 ? 3
		      : first < 0xf8 ? 4
				     : 0;

	if (size == 0 || size > len)
		return 0;
	*code = size == 1 ? first : first & (0x7fU >> size);
	for (size_t i = 1; i < size; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (*code < least[size] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return size;
}

bool
utf8_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

int
utf8_check(const char *file, const char *text, size_t len, struct err *err)
{
	int line = 1, column = 1;
	bool indenting = true;

	for (size_t i = 0, size; i < len; i += size) {
		uint32_t code;

		size = utf8_decode(text + i, len - i, &code);
		if (!size)
			return err_set(err, "%s:%d:%d: not UTF-8", file, line, column);
		if (code == '\n' || (code == '\r' && text[i + 1] != '\n')) {
			line++;
			column = 1;
			indenting = true;
			continue;
		}
		if (code == '\t' && indenting)
			return err_set(err, "%s:%d:%d: tab in the indentation: use spaces",
				file, line, column);
		if (utf8_is_control(code) && code != '\t' && code != '\r')
			return err_set(err, "%s:%d:%d: control character U+%04X", file, line,
				column, (unsigned)code);
		indenting = indenting && code == ' ';
		column++;
	}
	return 0;
}
