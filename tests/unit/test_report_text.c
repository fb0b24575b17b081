/* Figures, clean text, CSV fields and tables. */
#include "check.h"

#include <stdbool.h>

#include "report/csv.h"
#include "report/table.h"
#include "report/text.h"

static void
values(void)
{
	static const struct {
		enum record_unit unit;
		int64_t value;
		const char *text;
	} cases[] = {
		{RECORD_NS, 0, "0 ns"},
		{RECORD_NS, 999, "999 ns"},
		{RECORD_NS, 1000, "1.00 us"},
		{RECORD_NS, 3049, "3.05 us"},
		{RECORD_NS, 9994, "9.99 us"},
		{RECORD_NS, 9996, "10.0 us"},
		{RECORD_NS, 16700, "16.7 us"},
		{RECORD_NS, 340900, "340.9 us"},
		{RECORD_NS, 50200000, "50.2 ms"},
		{RECORD_NS, 100449999, "100.4 ms"},
		{RECORD_NS, 1020000000, "1.02 s"},
		{RECORD_NS, INT64_C(3600000000000), "3600.0 s"},
		{RECORD_NS, INT64_MAX, "9223372036.9 s"},
		{RECORD_BYTES, 14600, "14600 B"},
		{RECORD_BYTES_PER_S, 999, "999 B/s"},
		{RECORD_BYTES_PER_S, 5403000000, "5.40 GB/s"},
		{RECORD_COUNT_UNIT, 4097, "4097"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text = {0};

		report_text_value(&text, cases[i].unit, cases[i].value);
		CHECK_TEXT(buf_text(&text), cases[i].text);
		buf_free(&text);
	}
}

static void
round_values(void)
{
	static const struct {
		enum record_unit unit;
		int64_t value;
		const char *text;
	} cases[] = {
		{RECORD_NS, 500, "500 ns"},
		{RECORD_NS, 1000, "1 us"},
		{RECORD_NS, 200000000, "200 ms"},
		{RECORD_NS, INT64_C(50000000000), "50 s"},
		{RECORD_BYTES_PER_S, 2000000000, "2 GB/s"},
		{RECORD_COUNT_UNIT, 10, "10"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text = {0};

		report_text_round(&text, cases[i].unit, cases[i].value);
		CHECK_TEXT(buf_text(&text), cases[i].text);
		buf_free(&text);
	}
}

static void
scaled(void)
{
	CHECK_INT(report_text_scaled(1, 3, 3), 333);
	CHECK_INT(report_text_scaled(2, 3, 3), 667);
	CHECK_INT(report_text_scaled(1, 8, 2), 13); /* half up */
	CHECK_INT(report_text_scaled(0, 7, 6), 0);
	CHECK_INT(report_text_scaled(100400000, 50200000, 3), 2000);
	CHECK_INT(report_text_scaled(INT64_MAX, 1, 0), INT64_MAX);
	CHECK_INT(report_text_scaled(INT64_MAX, 1, 1), -1);
	CHECK_INT(report_text_scaled(1, INT64_MAX, 3), 0);
	CHECK_INT(
		report_text_scaled(INT64_MAX - 1, INT64_MAX, 3), -1); /* will not be guessed */
}

static void
ratios(void)
{
	struct buf text = {0};

	report_text_ratio(&text, 502, 500);
	buf_puts(&text, " ");
	report_text_times(&text, 102, 100);
	buf_puts(&text, " ");
	report_text_times(&text, 9994, 1000);
	buf_puts(&text, " ");
	report_text_times(&text, 40350, 3050);
	buf_puts(&text, " ");
	report_text_times(&text, 50200000, 16700);
	buf_puts(&text, " ");
	report_text_fixed(&text, 5, 4);
	CHECK_TEXT(buf_text(&text), "1.00 1.02x 9.99x 13.2x 3006x 0.0005");
	buf_free(&text);
}

static void
clean_text(void)
{
	static const struct {
		const char *dirty, *clean;
	} cases[] = {
		{"plain", "plain"},
		{"a\tb\nc\x7f", "a b c "},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
			"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"x\xff", "x\xef\xbf\xbd"},
		{"\xc3", "\xef\xbf\xbd"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text = {0};

		report_text_clean(&text, cases[i].dirty);
		CHECK_TEXT(buf_text(&text), cases[i].clean);
		buf_free(&text);
	}
	CHECK_INT(report_text_width("\xc2\xb1"
				    "1%"),
		3);
}

static void
csv_fields(void)
{
	struct buf text = {0};

	report_csv_field(&text, "a");
	report_csv_field(&text, "");
	report_csv_field(&text, "b;c=d e");
	report_csv_field(&text, "f,g");
	report_csv_field(&text, "say \"hi\"");
	report_csv_field(&text, "two\nlines");
	CHECK_TEXT(buf_text(&text), "a,,b;c=d e,\"f,g\",\"say \"\"hi\"\"\",\"two\nlines\"");
	buf_free(&text);
}

static void
tables(void)
{
	struct report_table table = {0};
	struct buf text = {0};

	report_table_column(&table, "metric", false);
	report_table_column(&table, "p50", true);
	report_table_add(&table, "a|b");
	report_table_add(&table, "50.2 ms \xc2\xb1"
				 "0.1%");
	report_table_add(&table, "connect");
	report_table_add(&table, "1");
	report_table_print(&table, &text);
	CHECK_TEXT(buf_text(&text), "| metric  |           p50 |\n"
				    "|---------|--------------:|\n"
				    "| a\\|b    | 50.2 ms \xc2\xb1"
				    "0.1% |\n"
				    "| connect |             1 |\n");
	buf_free(&text);
	report_table_free(&table);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"values", values},
		{"round values", round_values},
		{"scaled", scaled},
		{"ratios", ratios},
		{"clean text", clean_text},
		{"CSV fields", csv_fields},
		{"tables", tables},
		CU_TEST_INFO_NULL,
	};

	return check_main("report text", tests);
}
