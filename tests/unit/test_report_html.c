/* report.html: what is escaped, the axis of its pictures, and where marks stand on it. */
#include "check.h"

#include <stdbool.h>

#include "report/markup.h"
#include "report/report.h"
#include "report/scale.h"
#include "rundir.h"

/* The page of a directory; free() it. */
static char *
page_of(const char *dir)
{
	struct err err = {0};
	struct report *report = report_load(&dir, 1, &err);
	struct buf text = {0};
	char *copy;

	if (!report)
		fprintf(stderr, "%s\n", err.text);
	CU_ASSERT_FATAL(report != NULL);
	report_html(report, &text);
	copy = alloc_text(buf_text(&text));
	buf_free(&text);
	report_free(report);
	return copy;
}

static void
check_holds(const char *text, const char *part)
{
	if (!strstr(text, part))
		fprintf(stderr, "no '%s' in\n%s\n", part, text);
	CU_ASSERT(strstr(text, part) != NULL);
}

static void
escapes(void)
{
	static const struct {
		const char *text, *markup;
	} cases[] = {
		{"", ""},
		{"cpu=same;wait=spin", "cpu=same;wait=spin"},
		{"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
		{"a & b &amp; c", "a &amp; b &amp;amp; c"},
		{"\" onload='x'", "&quot; onload=&#39;x&#39;"},
		{"two\nlines\x01", "two lines "},
		{"\xc2\xb1 \xff<", "\xc2\xb1 \xef\xbf\xbd&lt;"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text = {0};

		report_markup_text(&text, cases[i].text);
		CHECK_TEXT(buf_text(&text), cases[i].markup);
		buf_free(&text);
	}
}

static void
tables(void)
{
	static const char *const cells[] = {"a<b", "x", "1.0 ms ±2%", "held", "a<b", "y",
		"failed", "BROKEN at wan50", "c", "failed", "2", ""};
	struct report_table table = {.heads = 2};
	struct buf text = {0};

	report_table_column(&table, "metric", false);
	report_table_column(&table, "variant", false);
	report_table_column(&table, "p50", true);
	report_table_column(&table, "expected", false);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		report_table_add(&table, cells[i]);
	report_markup.table(&text, "\"t\"", &table);
	CHECK_TEXT(buf_text(&text),
		"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
		"aria-label=\"&quot;t&quot;\">\n<table>\n<thead>\n<tr><th scope=\"col\">"
		"metric</th><th scope=\"col\">variant</th><th scope=\"col\" class=\"n\">p50"
		"</th><th scope=\"col\">expected</th></tr>\n</thead>\n"
		"<tbody>\n<tr><th scope=\"rowgroup\" rowspan=\"2\">a&lt;b</th>"
		"<th scope=\"row\">x</th><td class=\"n\">1.0 ms <small>±2%</small></td><td>held</td></tr>\n"
		"<tr><th scope=\"row\">y</th><td class=\"n\"><strong class=\"bad\">failed"
		"</strong></td><td><strong class=\"bad\">BROKEN at wan50</strong></td></tr>\n"
		"</tbody>\n<tbody>\n<tr><th scope=\"rowgroup\" rowspan=\"1\">c</th>"
		"<th scope=\"row\">failed</th><td class=\"n\">2</td><td></td></tr>\n</tbody>\n"
		"</table>\n</div>\n");
	buf_free(&text);
	report_table_free(&table);
}

static void
scale_fits(void)
{
	static const struct {
		int64_t least, most, low, high;
	} cases[] = {
		{1, 1, 1, 2},
		{130, 1000000000, 100, 1000000000},
		{7010, 100100000, 5000, 200000000},
		{2, 5, 2, 5},
		{INT64_MAX - 1, INT64_MAX, INT64_C(5000000000000000000), INT64_MAX},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct report_scale scale;

		report_scale_fit(&scale, cases[i].least, cases[i].most, 6000);
		CHECK_INT(scale.low, cases[i].low);
		CHECK_INT(scale.high, cases[i].high);
		CHECK_INT(report_scale_at(&scale, scale.low), 0);
		CHECK_INT(report_scale_at(&scale, scale.high), 6000);
	}
	CHECK_INT(report_scale_next(1), 2);
	CHECK_INT(report_scale_next(20), 50);
	CHECK_INT(report_scale_next(500), 1000);
	CHECK_INT(report_scale_next(INT64_C(5000000000000000000)), INT64_MAX);
}

/* Equal ratios are equal lengths, and a decade is a decade anywhere. */
static void
scale_is_logarithmic(void)
{
	struct report_scale scale;

	report_scale_fit(&scale, 1000, 1000000000, 6000);
	for (int64_t at = 1000, i = 0; i <= 6; at *= 10, i++)
		CHECK_BETWEEN(report_scale_at(&scale, at), i * 1000 - 1, i * 1000 + 1);
	CHECK_INT(report_scale_at(&scale, 2000), 301);
	CHECK_INT(report_scale_at(&scale, 3162278), 3500);
	for (int64_t at = 1000, last = -1; at < 1000000000; at += at / 20) {
		CU_ASSERT(report_scale_at(&scale, at) > last);
		last = report_scale_at(&scale, at);
	}
	CHECK_INT(report_scale_at(&scale, 0), 0);
	CHECK_INT(report_scale_at(&scale, 999), 0);
	CHECK_INT(report_scale_at(&scale, INT64_MAX), 6000);
}

/* The x, in tenths, behind the n-th path that begins with `start`. */
static int64_t
x_behind(const char *page, const char *start, int n)
{
	int64_t whole, tenth;

	for (; page && n > 0; n--)
		page = strstr(page + 1, start);
	if (!page || sscanf(page + strlen(start), "%" SCNd64 ".%" SCNd64, &whole, &tenth) != 2)
		return -1;
	return whole * 10 + tenth;
}

/* Two round trips as they were measured stand on the line of two. */
static void
marks_stand_on_their_round_trips(void)
{
	char *dir = scratch_make(), *page;
	char *cell = rundir_cell("handshake", "default", "wan50", "");

	rundir_manifest(dir, 1, cell);
	rundir_linked(dir, "handshake/default/wan50/4", 1,
		"sample request_new ns 100200000\nsample request_new ns 100200000\n"
		"sample idle ns 0\nsample idle ns 0\n",
		"");
	page = page_of(dir);
	CHECK_INT(x_behind(page, "<path class=\"guide p0\" d=\"M", 2),
		x_behind(page, "<path class=\"p0\" d=\"M", 2)); /* behind that of the legend, */
	CU_ASSERT(x_behind(page, "<path class=\"p0\" d=\"M", 2) > 0); /* the interval's */
	CHECK_INT(x_behind(page, "<path class=\"grid\" d=\"M", 1),
		x_behind(page, "<path class=\"p0\" d=\"M", 5)); /* and 0 on the line of 0 */
	check_holds(
		page, "<title>request_new, default, wan50: 100.2 ms ±0.0%, 2.00 RTT</title>");
	check_holds(page, "; dotted: one to four round trips of each link.</figcaption>");
	free(page);
	free(cell);
	scratch_remove(dir);
}

#define EVIL "<script>alert(\\\"&\\\")</script>"
#define HARMLESS "&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"

/* Names come from a file, reasons and congestion control from any program. */
static void
nothing_gets_through_as_markup(void)
{
	char *dir = scratch_make(), *page;
	char *bad = rundir_cell("handshake", "a=" EVIL, "wan50",
		"{\"metric\":\"x\",\"kind\":\"equals\",\"low\":1,\"high\":0,\"text\":\"" EVIL
		"\"}");
	char *good = rundir_cell(EVIL, "default", "localhost", ""), *cells;

	/* An id is a folder's name. */
	for (char *at = good; (at = strstr(at, "</")); at++)
		at[1] = '_';
	cells = alloc_printf("%s,%s", bad, good);
	rundir_manifest(dir, 1, cells);
	rundir_bad(dir, "handshake/a=<script>alert(\"&\")</script>/wan50/4", 1, "failed",
		"<script>alert(\"&\")</script>");
	rundir_local(dir, "<script>alert(\"&\")<_script>/default/localhost/4", 1,
		"sample request ns 5\nsample request ns 5\ninfo congestion "
		"<script>alert(\"&\")</script>\n",
		"");
	page = page_of(dir);
	CU_ASSERT(strstr(page, "<script") == NULL);
	CU_ASSERT(strstr(page, "alert(\"") == NULL);
	check_holds(page, "<strong>failed</strong> <code>handshake/a=" HARMLESS
			  "/wan50/4</code>: " HARMLESS "</li>");
	check_holds(page, "congestion control " HARMLESS ".</li>");
	check_holds(page, "<h2>&lt;script&gt;alert(&quot;&amp;&quot;)&lt;_script&gt;</h2>");
	check_holds(page, "<th scope=\"row\">" HARMLESS
			  "</th><td><strong class=\"bad\">failed</strong></td>");
	free(page);
	free(cells);
	free(good);
	free(bad);
	scratch_remove(dir);
}

/* What there is nothing to say of is not there, nor in the contents. */
static void
of_nothing_there_is_a_page(void)
{
	char *dir = scratch_make(), *cell = rundir_cell("dns", "default", "localhost", "");
	char *page;

	rundir_manifest(dir, 2, cell);
	scratch_write(dir, "cells/x", "");
	page = page_of(dir);
	check_holds(page, "<p>0 of 1 cells ok, 1 skipped.</p>");
	check_holds(page, "<strong>incomplete</strong> 2 of 2 repeats were not run");
	check_holds(page, "<h2>dns</h2>\n<p>No figures.</p>");
	check_holds(
		page, "<th scope=\"row\">dns/default/localhost/4</th><td>skipped: not run: ");
	CU_ASSERT(strstr(page, "<svg") == NULL);
	CU_ASSERT(strstr(page, "#answer") == NULL);
	CU_ASSERT(strstr(page, "#counts") == NULL);
	free(page);
	free(cell);
	scratch_remove(dir);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"escapes", escapes},
		{"tables", tables},
		{"scale fits", scale_fits},
		{"scale is logarithmic", scale_is_logarithmic},
		{"marks stand on their round trips", marks_stand_on_their_round_trips},
		{"nothing gets through as markup", nothing_gets_through_as_markup},
		{"of nothing there is a page", of_nothing_there_is_a_page},
		CU_TEST_INFO_NULL,
	};

	return check_main("report html", tests);
}
