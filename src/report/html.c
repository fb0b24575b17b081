/* report.html: the run, what is unexpected, the answer, each probe with its picture, the
 * verdicts, the links, the counts, every cell. */
#include <stdio.h>
#include <stdlib.h>

#include "report/chart.h"
#include "report/headline.h"
#include "report/markup.h"
#include "report/report.h"
#include "report/sections.h"
#include "report/svg.h"

/* No script, nothing from elsewhere: should a name ever get through as markup, it does nothing.
 */
static const char head[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\">\n"
	"<head>\n"
	"<meta charset=\"utf-8\"/>\n"
	"<meta http-equiv=\"Content-Security-Policy\" "
	"content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	"<meta name=\"color-scheme\" content=\"light dark\"/>\n";

static const char style[] =
	":root{--ink:#1b1f24;--soft:#59636e;--paper:#fff;--band:#f4f6f8;--line:#d5dae0;"
	"--bad:#b3261e;--link:#0b57d0;"
	"--p0:#4d5965;--p1:#0068b5;--p2:#c44601;--p3:#00795a;--p4:#a83f83;--p5:#8a6a00}\n"
	"@media screen and (prefers-color-scheme:dark){"
	":root{--ink:#e4e7eb;--soft:#9ba6b2;--paper:#14171b;--band:#1d2228;--line:#343b44;"
	"--bad:#ff8a80;--link:#8ab4f8;"
	"--p0:#b0bcc8;--p1:#5cb3f5;--p2:#ff9a57;--p3:#3fcf9f;--p4:#f094c8;--p5:#e3c04a}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;padding:1.5rem 1.25rem 4rem;max-width:76rem;background:var(--paper);"
	"color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.9rem;line-height:1.2;margin:0 0 .5rem}\n"
	"h2{font-size:1.35rem;margin:2.5rem 0 .75rem;padding-top:.75rem;"
	"border-top:1px solid var(--line)}\n"
	"h3{font-size:1.05rem;margin:1.5rem 0 .5rem}\n"
	"p{margin:.5rem 0;max-width:60rem}\n"
	"ul{margin:.5rem 0;padding-left:1.2rem;max-width:60rem}\n"
	"li{margin:.25rem 0}\n"
	"a{color:var(--link)}\n"
	"nav{font-size:.9rem;margin:1rem 0;line-height:1.9}\n"
	"nav a{margin-right:.9rem;white-space:nowrap}\n"
	".run{color:var(--soft);font-size:.85rem;list-style:none;padding:0}\n"
	".outcome{font-size:1.15rem;font-weight:600}\n"
	".bad{color:var(--bad)}\n"
	"#unexpected{border-left:.3rem solid var(--bad);padding-left:1rem;margin-top:2rem}\n"
	"#unexpected h2{border:0;padding:0}#unexpected strong{color:var(--bad)}\n"
	"code{font:.9em ui-monospace,monospace}\n"
	".scroll{overflow-x:auto;max-width:100%}\n"
	"table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.22rem .6rem;text-align:left;vertical-align:top;white-space:nowrap;"
	"border-bottom:1px solid var(--line)}\n"
	"thead th{border-bottom:2px solid var(--soft);vertical-align:bottom}\n"
	"tbody th{font-weight:400}\n"
	"tbody th[scope=rowgroup]{font-weight:600}\n"
	"tbody tr:hover>*{background:var(--band)}\n"
	".n{text-align:right}\n"
	"small{color:var(--soft);font-size:.85em}\n"
	"figure{margin:1rem 0}\n"
	"figcaption,#notes,.scroll+p{color:var(--soft);font-size:.85rem}\n"
	"@media (max-width:40rem){body{padding:1rem .75rem 3rem}table{font-size:.78rem}"
	"th,td{padding:.2rem .4rem}tbody th{white-space:normal;overflow-wrap:anywhere}}\n"
	"@media print{body{max-width:none;padding:0;font-size:10pt}nav{display:none}"
	".scroll{overflow:visible}svg{min-width:0}"
	"table{font-size:7pt}th,td{padding:.1rem .35rem}"
	"tr,figure,li{break-inside:avoid}h2,h3,h2+p{break-after:avoid}}\n";

struct html {
	const struct report *report;
	struct report_page page; /* the part that is being made, in `part` */
	struct buf part, body, contents;
};

/* What was added since the last part is one, if anything was; the contents lead to it. */
static void
end_part(struct html *html, const char *id, const char *title)
{
	if (html->part.len == 0)
		return;
	buf_printf(&html->contents, "<a href=\"#%s\">", id);
	report_markup_text(&html->contents, title);
	buf_puts(&html->contents, "</a>\n");
	buf_printf(&html->body, "<section id=\"%s\">\n", id);
	buf_add(&html->body, html->part.data, html->part.len);
	buf_puts(&html->body, "</section>\n");
	buf_clear(&html->part);
}

/* A probe of which only counts are known has them here, not among the others' counts. */
static void
add_group(struct html *html, const struct report_group *group, size_t number)
{
	char *title = report_group_title(group), id[32];

	snprintf(id, sizeof(id), "probe-%zu", number);
	report_page_put(&html->page, PAGE_HEADING, "%s", title);
	report_group_settings(group, &html->page);
	report_chart(html->report, group, RECORD_NS, &html->part);
	report_chart(html->report, group, RECORD_BYTES_PER_S, &html->part);
	if (report_group_has(group, ROWS_SAMPLES))
		report_side_by_side(group, ROWS_SAMPLES, &html->page);
	else if (report_group_has(group, ROWS_COUNTS))
		report_side_by_side(group, ROWS_COUNTS, &html->page);
	else
		report_page_put(&html->page, PAGE_PARAGRAPH, "No figures.");
	report_group_sizes(group, &html->page);
	end_part(html, id, title);
	free(title);
}

static void
add_counts(struct html *html, const struct report_group *groups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *title;

		if (!report_group_has(&groups[i], ROWS_SAMPLES) ||
			!report_group_has(&groups[i], ROWS_COUNTS))
			continue;
		if (html->part.len == 0)
			report_page_put(&html->page, PAGE_HEADING, "Counts");
		title = report_group_title(&groups[i]);
		buf_puts(&html->part, "<h3>");
		report_markup_text(&html->part, title);
		buf_puts(&html->part, "</h3>\n");
		report_group_settings(&groups[i], &html->page);
		report_side_by_side(&groups[i], ROWS_COUNTS, &html->page);
		free(title);
	}
	end_part(html, "counts", "Counts");
}

static void
add_answer(struct html *html, const struct report_group *groups, size_t count)
{
	struct buf items = {0};

	report_headline(groups, count, &(struct report_page){&report_markup, &items});
	if (items.len) {
		report_page_put(&html->page, PAGE_HEADING, "The answer");
		buf_add(&html->part, items.data, items.len);
	}
	buf_free(&items);
	end_part(html, "answer", "The answer");
}

static void
add_parts(struct html *html)
{
	struct report_group *groups;
	size_t count;

	groups = report_groups(html->report, &count);
	report_unexpected(html->report, &html->page);
	end_part(html, "unexpected", "Unexpected");
	add_answer(html, groups, count);
	report_notes(&html->page);
	end_part(html, "notes", "How to read this");
	for (size_t i = 0; i < count; i++)
		add_group(html, &groups[i], i + 1);
	report_expected(html->report, &html->page);
	end_part(html, "expectations", "Expectations");
	report_links(html->report, &html->page);
	end_part(html, "links", "Links");
	add_counts(html, groups, count);
	report_cells(html->report, &html->page);
	end_part(html, "cells", "Cells");
	for (size_t i = 0; i < count; i++)
		report_group_free(&groups[i]);
	free(groups);
}

/* What was run and what came of it, where and when. */
static void
add_top(const struct report *report, struct buf *out)
{
	const struct report_page page = {&report_markup, out};

	buf_puts(out, "<p class=\"run\">rttmatrix: what a connection costs at a given round "
		      "trip</p>\n");
	report_page_put(&page, PAGE_TITLE, "%s", report->runs[0].matrix);
	buf_puts(out, "<div class=\"outcome\">\n");
	report_outcome(report, &page);
	buf_puts(out, "</div>\n<ul class=\"run\">\n");
	report_about(report, &page);
	buf_puts(out, "</ul>\n");
}

void
report_html(const struct report *report, struct buf *out)
{
	struct html html = {.report = report};

	html.page = (struct report_page){&report_markup, &html.part};
	add_parts(&html);
	buf_puts(out, head);
	buf_puts(out, "<title>");
	report_markup_text(out, report->runs[0].matrix);
	buf_puts(out, ": rttmatrix report</title>\n");
	buf_puts(out, "<style>\n");
	buf_puts(out, report_svg_style);
	buf_puts(out, style);
	buf_puts(out, "</style>\n</head>\n<body>\n<main>\n");
	add_top(report, out);
	buf_puts(out, "<nav aria-label=\"Contents\">\n");
	buf_add(out, html.contents.data, html.contents.len);
	buf_puts(out, "</nav>\n");
	buf_add(out, html.body.data, html.body.len);
	buf_puts(out, "</main>\n</body>\n</html>\n");
	buf_free(&html.part);
	buf_free(&html.contents);
	buf_free(&html.body);
}
