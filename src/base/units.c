/* Reads and prints values with units, exactly and in every locale. */
#include "base/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
	enum unit_kind kind;
	const char *suffix;
	int64_t factor;
	bool printed; /* some are read but never written: kb, minutes */
};

static const struct unit units[] = {
	{UNIT_DURATION, "h", INT64_C(3600000000000), false},
	{UNIT_DURATION, "m", INT64_C(60000000000), false},
	{UNIT_DURATION, "s", INT64_C(1000000000), true},
	{UNIT_DURATION, "ms", INT64_C(1000000), true},
	{UNIT_DURATION, "us", INT64_C(1000), true},
	{UNIT_DURATION, "ns", INT64_C(1), true},
	{UNIT_RATE, "gbit", INT64_C(1000000000), true},
	{UNIT_RATE, "mbit", INT64_C(1000000), true},
	{UNIT_RATE, "kbit", INT64_C(1000), true},
	{UNIT_RATE, "bit", INT64_C(1), true},
	{UNIT_PERCENT, "%", INT64_C(10000), true},
	{UNIT_SIZE, "gib", INT64_C(1) << 30, true},
	{UNIT_SIZE, "mib", INT64_C(1) << 20, true},
	{UNIT_SIZE, "kib", INT64_C(1) << 10, true},
	{UNIT_SIZE, "gb", INT64_C(1000000000), false},
	{UNIT_SIZE, "mb", INT64_C(1000000), false},
	{UNIT_SIZE, "kb", INT64_C(1000), false},
	{UNIT_SIZE, "b", INT64_C(1), true},
};

static const struct {
	const char *name;
	const char *example;
} kinds[] = {
	[UNIT_DURATION] = {"duration", "50ms, 500us or 1.5s"},
	[UNIT_RATE] = {"rate", "10mbit, 500kbit or 1gbit"},
	[UNIT_PERCENT] = {"percentage", "1% or 0.5%"},
	[UNIT_SIZE] = {"size", "64b, 64kib or 1mib"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct unit *
find_unit(enum unit_kind kind, const char *suffix)
{
	for (size_t i = 0; i < COUNT(units); i++)
		if (units[i].kind == kind && !strcasecmp(units[i].suffix, suffix))
			return &units[i];
	return NULL;
}

/* Digits of `*text` onto `*value`; false on overflow. */
static bool
take_digits(const char **text, int64_t *value, int *count)
{
	for (*count = 0; **text >= '0' && **text <= '9'; (*text)++, (*count)++) {
		if (__builtin_mul_overflow(*value, 10, value) ||
			__builtin_add_overflow(*value, **text - '0', value))
			return false;
	}
	return true;
}

/* whole + fraction / 10^digits, times factor, if that is a whole number in range. */
static bool
scale(int64_t whole, int64_t fraction, int digits, int64_t factor, int64_t *value)
{
	int64_t part;

	for (; digits > 0 && fraction % 10 == 0; digits--)
		fraction /= 10;
	if (__builtin_mul_overflow(fraction, factor, &part))
		return false;
	for (; digits > 0; digits--) {
		if (part % 10)
			return false;
		part /= 10;
	}
	return !__builtin_mul_overflow(whole, factor, value) &&
	       !__builtin_add_overflow(*value, part, value);
}

int
units_parse(enum unit_kind kind, const char *text, int64_t *value, struct err *err)
{
	const struct unit *unit;
	const char *at = text;
	int64_t whole = 0, fraction = 0;
	int digits, decimals = 0;

	if (!take_digits(&at, &whole, &digits))
		return err_set(err, "%s '%s' is out of range", kinds[kind].name, text);
	if (digits && *at == '.') {
		at++;
		if (!take_digits(&at, &fraction, &decimals))
			return err_set(err, "%s '%s' is too precise", kinds[kind].name, text);
		digits = decimals; /* "1." is not a number */
	}
	if (digits && !*at)
		return err_set(err, "%s '%s' has no unit: expected one such as %s",
			kinds[kind].name, text, kinds[kind].example);
	unit = digits ? find_unit(kind, at) : NULL;
	if (!unit)
		return err_set(err, "'%s' is not a %s: expected one such as %s", text,
			kinds[kind].name, kinds[kind].example);
	if (!scale(whole, fraction, decimals, unit->factor, value))
		return err_set(
			err, "%s '%s' is out of range or too precise", kinds[kind].name, text);
	return 0;
}

/* Does `value` print in this unit with at most three decimals? */
static bool
fits(const struct unit *unit, int64_t value)
{
	int64_t rest = value % unit->factor;

	return value >= unit->factor && rest <= INT64_MAX / 1000 &&
	       rest * 1000 % unit->factor == 0;
}

/* "12" and, unless it is zero, "." and `fraction` in `width` digits without trailing zeros. */
static void
print_decimal(char out[static UNITS_TEXT_SIZE], int64_t whole, int fraction, int width,
	const char *suffix)
{
	char decimals[16] = "";

	if (fraction) {
		int len = snprintf(decimals, sizeof(decimals), ".%0*d", width, fraction);

		while (decimals[len - 1] == '0')
			decimals[--len] = '\0';
	}
	snprintf(out, UNITS_TEXT_SIZE, "%" PRId64 "%s%s", whole, decimals, suffix);
}

void
units_format(enum unit_kind kind, int64_t value, char out[static UNITS_TEXT_SIZE])
{
	const struct unit *unit = NULL;

	for (size_t i = 0; i < COUNT(units); i++) {
		if (units[i].kind != kind || !units[i].printed)
			continue;
		unit = &units[i];
		if (fits(unit, value))
			break;
	}
	if (kind == UNIT_PERCENT)
		print_decimal(out, value / 10000, (int)(value % 10000), 4, "%");
	else
		print_decimal(out, value / unit->factor,
			(int)(value % unit->factor * 1000 / unit->factor), 3, unit->suffix);
}

int
units_parse_count(const char *text, int64_t *value, struct err *err)
{
	const char *at = text;
	int digits;

	*value = 0;
	if (!take_digits(&at, value, &digits))
		return err_set(err, "number '%s' is out of range", text);
	if (!digits || *at)
		return err_set(err, "'%s' is not a whole number", text);
	return 0;
}

/* `ns` in units of `factor`, times 10^decimals, rounded half up. */
static int64_t
round_to(int64_t ns, int64_t factor, int decimals)
{
	for (; decimals > 0; decimals--)
		factor /= 10;
	return ns / factor + (ns % factor >= factor - ns % factor);
}

void
units_format_short(int64_t ns, char out[static UNITS_TEXT_SIZE])
{
	static const struct {
		const char *suffix;
		int64_t factor;
	} steps[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	size_t i = 0;

	/* The unit below would be rounded up to 1000: 999,999 ns are 1.00 ms. */
	while (i + 1 < COUNT(steps) && round_to(ns, steps[i + 1].factor, 0) < 1000)
		i++;
	if (steps[i].factor == 1)
		snprintf(out, UNITS_TEXT_SIZE, "%" PRId64 " ns", ns);
	else if (round_to(ns, steps[i].factor, 2) < 1000)
		snprintf(out, UNITS_TEXT_SIZE, "%" PRId64 ".%02d %s",
			round_to(ns, steps[i].factor, 2) / 100,
			(int)(round_to(ns, steps[i].factor, 2) % 100), steps[i].suffix);
	else if (round_to(ns, steps[i].factor, 1) < 1000)
		snprintf(out, UNITS_TEXT_SIZE, "%" PRId64 ".%d %s",
			round_to(ns, steps[i].factor, 1) / 10,
			(int)(round_to(ns, steps[i].factor, 1) % 10), steps[i].suffix);
	else
		snprintf(out, UNITS_TEXT_SIZE, "%" PRId64 " %s",
			round_to(ns, steps[i].factor, 0), steps[i].suffix);
}
