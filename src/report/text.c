/* Numbers and clean text. */
#include "report/text.h"

#include <inttypes.h>
#include <stddef.h>

struct step {
	int64_t factor;
	const char *suffix;
};

static const struct step time_steps[] = {
	{1000000000, " s"}, {1000000, " ms"}, {1000, " us"}, {1, " ns"}};
static const struct step rate_steps[] = {
	{1000000000, " GB/s"}, {1000000, " MB/s"}, {1000, " kB/s"}, {1, " B/s"}};

int64_t
report_text_scaled(int64_t value, int64_t base, int decimals)
{
	int64_t whole = value / base, rest = value % base, digit;

	for (int i = 0; i < decimals; i++) {
		if (__builtin_mul_overflow(rest, 10, &rest) ||
			__builtin_mul_overflow(whole, 10, &whole))
			return -1;
		digit = rest / base;
		rest %= base;
		if (__builtin_add_overflow(whole, digit, &whole))
			return -1;
	}
	/* rest / base is at least a half */
	return rest >= base - rest && whole < INT64_MAX ? whole + 1 : whole;
}

void
report_text_fixed(struct buf *out, int64_t scaled, int decimals)
{
	int64_t power = 1;

	for (int i = 0; i < decimals; i++)
		power *= 10;
	buf_printf(out, "%" PRId64, scaled / power);
	if (decimals)
		buf_printf(out, ".%0*" PRId64, decimals, scaled % power);
}

/* The largest step that is not above `value`. */
static const struct step *
find_step(const struct step *step, int64_t value)
{
	while (step->factor > 1 && value < step->factor)
		step++;
	return step;
}

/* Two decimals below 10, one below 1000, none in the smallest unit. */
static void
add_stepped(struct buf *out, const struct step *steps, int64_t value)
{
	const struct step *step = find_step(steps, value);
	int decimals;

	decimals = step->factor == 1                                   ? 0
		   : report_text_scaled(value, step->factor, 2) < 1000 ? 2
								       : 1;
	report_text_fixed(out, report_text_scaled(value, step->factor, decimals), decimals);
	buf_puts(out, step->suffix);
}

void
report_text_value(struct buf *out, enum record_unit unit, int64_t value)
{
	switch (unit) {
	case RECORD_NS:
		add_stepped(out, time_steps, value);
		return;
	case RECORD_BYTES_PER_S:
		add_stepped(out, rate_steps, value);
		return;
	case RECORD_BYTES:
		buf_printf(out, "%" PRId64 " B", value);
		return;
	case RECORD_COUNT_UNIT:
		buf_printf(out, "%" PRId64, value);
		return;
	}
}

void
report_text_round(struct buf *out, enum record_unit unit, int64_t value)
{
	const struct step *step;

	if (unit != RECORD_NS && unit != RECORD_BYTES_PER_S) {
		report_text_value(out, unit, value);
		return;
	}
	step = find_step(unit == RECORD_NS ? time_steps : rate_steps, value);
	buf_printf(out, "%" PRId64 "%s", value / step->factor, step->suffix);
}

void
report_text_ratio(struct buf *out, int64_t value, int64_t base)
{
	int64_t scaled = report_text_scaled(value, base, 2);

	if (scaled < 0)
		buf_puts(out, "?");
	else
		report_text_fixed(out, scaled, 2);
}

void
report_text_times(struct buf *out, int64_t value, int64_t base)
{
	int64_t scaled = report_text_scaled(value, base, 2);
	int decimals = scaled < 1000 ? 2 : scaled < 10000 ? 1 : 0;

	if (scaled < 0)
		return;
	report_text_fixed(out, report_text_scaled(value, base, decimals), decimals);
	buf_puts(out, "x");
}

/* The length of the UTF-8 character at `at`; 0 when it is not one. Overlong forms and
 * surrogates are refused by the range of the second byte (Unicode, table 3-7). */
static size_t
utf8_len(const unsigned char *at)
{
	static const struct {
		unsigned char first, last, low, high;
		size_t len;
	} forms[] = {
		{0x20, 0x7e, 0, 0, 1},
		{0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (at[0] < forms[i].first || at[0] > forms[i].last)
			continue;
		if (forms[i].len > 1 && (at[1] < forms[i].low || at[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < forms[i].len; k++)
			if (at[k] < 0x80 || at[k] > 0xbf)
				return 0;
		return forms[i].len;
	}
	return 0;
}

void
report_text_clean(struct buf *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		size_t len = utf8_len(at);

		if (len)
			buf_add(out, at, len);
		else
			buf_puts(out, *at < 0x20 || *at == 0x7f ? " " : "\xef\xbf\xbd");
		at += len ? len : 1;
	}
}

size_t
report_text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}
