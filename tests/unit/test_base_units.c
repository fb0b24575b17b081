/* Durations, rates, percentages and sizes: read, refused, printed. */
#include "check.h"

#include "base/rng.h"
#include "base/units.h"

struct good {
	enum unit_kind kind;
	const char *text;
	int64_t value;
};

static void
parses(void)
{
	static const struct good cases[] = {
		{UNIT_DURATION, "50ms", 50000000},
		{UNIT_DURATION, "0.5ms", 500000},
		{UNIT_DURATION, "500us", 500000},
		{UNIT_DURATION, "1.5s", 1500000000},
		{UNIT_DURATION, "2m", INT64_C(120000000000)},
		{UNIT_DURATION, "1h", INT64_C(3600000000000)},
		{UNIT_DURATION, "0ms", 0},
		{UNIT_DURATION, "7ns", 7},
		{UNIT_DURATION, "1.000000000s", 1000000000},
		{UNIT_DURATION, "0.500000000000000000s", 500000000},
		{UNIT_DURATION, "10MS", 10000000},
		{UNIT_RATE, "10mbit", 10000000},
		{UNIT_RATE, "1.5gbit", 1500000000},
		{UNIT_RATE, "64kbit", 64000},
		{UNIT_RATE, "9bit", 9},
		{UNIT_PERCENT, "1%", 10000},
		{UNIT_PERCENT, "0.0001%", 1},
		{UNIT_PERCENT, "100%", 1000000},
		{UNIT_SIZE, "64b", 64},
		{UNIT_SIZE, "64kib", 65536},
		{UNIT_SIZE, "64kb", 64000},
		{UNIT_SIZE, "1.5mib", 1572864},
		{UNIT_SIZE, "1gib", INT64_C(1) << 30},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		int64_t value = -1;

		CHECK_INT(units_parse(cases[i].kind, cases[i].text, &value, &err), 0);
		CHECK_TEXT(err.text, "");
		CHECK_INT(value, cases[i].value);
	}
}

static void
refuses(void)
{
	static const struct {
		enum unit_kind kind;
		const char *text, *error;
	} cases[] = {
		{UNIT_DURATION, "50",
			"duration '50' has no unit: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "1.5",
			"duration '1.5' has no unit: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "",
			"'' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "ms",
			"'ms' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "-1ms",
			"'-1ms' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "+1ms",
			"'+1ms' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, " 1ms",
			"' 1ms' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "1 ms",
			"'1 ms' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "1.ms",
			"'1.ms' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, ".5ms",
			"'.5ms' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "1,5ms",
			"'1,5ms' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "1e3ms",
			"'1e3ms' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "5kib",
			"'5kib' is not a duration: expected one such as 50ms, 500us or 1.5s"},
		{UNIT_DURATION, "0.5ns", "duration '0.5ns' is out of range or too precise"},
		{UNIT_DURATION, "9223372037s",
			"duration '9223372037s' is out of range or too precise"},
		{UNIT_DURATION, "9223372036854775808ns",
			"duration '9223372036854775808ns' is out of range"},
		{UNIT_DURATION, "0.99999999999999999999ms",
			"duration '0.99999999999999999999ms' is too precise"},
		{UNIT_RATE, "10mbps",
			"'10mbps' is not a rate: expected one such as 10mbit, 500kbit or "
			"1gbit"},
		{UNIT_PERCENT, "1",
			"percentage '1' has no unit: expected one such as 1% or 0.5%"},
		{UNIT_PERCENT, "0.00001%",
			"percentage '0.00001%' is out of range or too precise"},
		{UNIT_SIZE, "1.0001kib", "size '1.0001kib' is out of range or too precise"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		int64_t value;

		CHECK_INT(units_parse(cases[i].kind, cases[i].text, &value, &err), -1);
		CHECK_TEXT(err.text, cases[i].error);
	}
}

static void
formats(void)
{
	static const struct good cases[] = {
		{UNIT_DURATION, "500us", 500000},
		{UNIT_DURATION, "1.5s", 1500000000},
		{UNIT_DURATION, "50ms", 50000000},
		{UNIT_DURATION, "1.234us", 1234},
		{UNIT_DURATION, "1000.001us", 1000001},
		{UNIT_DURATION, "0ns", 0},
		{UNIT_DURATION, "3600s", INT64_C(3600000000000)},
		{UNIT_RATE, "10mbit", 10000000},
		{UNIT_RATE, "1.5gbit", 1500000000},
		{UNIT_PERCENT, "1%", 10000},
		{UNIT_PERCENT, "0.0001%", 1},
		{UNIT_PERCENT, "0%", 0},
		{UNIT_PERCENT, "12.5%", 125000},
		{UNIT_SIZE, "64kib", 65536},
		{UNIT_SIZE, "1000b", 1000},
		{UNIT_SIZE, "1.5kib", 1536},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[UNITS_TEXT_SIZE];

		units_format(cases[i].kind, cases[i].value, text);
		CHECK_TEXT(text, cases[i].text);
	}
}

/* Whatever is printed is read back as it was. */
static void
round_trips(void)
{
	static const enum unit_kind kinds[] = {
		UNIT_DURATION, UNIT_RATE, UNIT_PERCENT, UNIT_SIZE};
	struct rng rng;
	int wrong = 0;

	rng_seed(&rng, 1, 0);
	for (int i = 0; i < 40000; i++) {
		int64_t value = (int64_t)(rng_next(&rng) >> (1 + rng_below(&rng, 63))),
			back = -1;
		char text[UNITS_TEXT_SIZE];
		struct err err;

		if (i % 2)
			value -= value % 1000;
		units_format(kinds[i % 4], value, text);
		if (units_parse(kinds[i % 4], text, &back, &err) < 0 || back != value) {
			fprintf(stderr, "%" PRId64 " -> %s -> %" PRId64 "\n", value, text,
				back);
			wrong++;
		}
	}
	CHECK_INT(wrong, 0);
}

static void
counts(void)
{
	struct err err = {0};
	int64_t value;

	CHECK_INT(units_parse_count("0", &value, &err), 0);
	CHECK_INT(value, 0);
	CHECK_INT(units_parse_count("9223372036854775807", &value, &err), 0);
	CHECK_INT(value, INT64_MAX);
	CHECK_INT(units_parse_count("9223372036854775808", &value, &err), -1);
	CHECK_TEXT(err.text, "number '9223372036854775808' is out of range");
	CHECK_INT(units_parse_count("", &value, &err), -1);
	CHECK_TEXT(err.text, "'' is not a whole number");
	CHECK_INT(units_parse_count("-1", &value, &err), -1);
	CHECK_INT(units_parse_count("1.0", &value, &err), -1);
	CHECK_INT(units_parse_count("1 ", &value, NULL), -1);
}

static void
formats_short(void)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1.00 us"},
		{16700, "16.7 us"},
		{3054, "3.05 us"},
		{3055, "3.06 us"},
		{50200000, "50.2 ms"},
		{100400000, "100 ms"},
		{1020000000, "1.02 s"},
		{9994, "9.99 us"},
		{9996, "10.0 us"},
		{99940, "99.9 us"},
		{99960, "100 us"},
		{999499, "999 us"},
		{999500, "1.00 ms"},
		{999999999, "1.00 s"},
		{INT64_C(75000000000), "75.0 s"},
		{INT64_C(3600000000000), "3600 s"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[UNITS_TEXT_SIZE];

		units_format_short(cases[i].ns, text);
		CHECK_TEXT(text, cases[i].text);
	}
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"parses", parses},
		{"refuses", refuses},
		{"formats", formats},
		{"round trips", round_trips},
		{"counts", counts},
		{"formats short", formats_short},
		CU_TEST_INFO_NULL,
	};

	return check_main("base units", tests);
}
