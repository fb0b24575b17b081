/* Run facts and links. */
#include "report/sections.h"

#include <inttypes.h>
#include <string.h>

#include "report/link.h"
#include "report/text.h"

static void
add_plan(const struct report_run *run, const struct report_page *page)
{
	report_page_open(page, PAGE_ITEM);
	report_page_say(page, "Run ");
	report_page_put(page, PAGE_CODE, "%s", run->name);
	report_page_say(page,
		" of matrix %s, %s to %s, seed %" PRId64 ", %" PRId64 " repeat%s, %" PRId64
		" job%s.",
		run->matrix, run->start, run->end ? run->end : "(not ended)", run->seed,
		run->repeats, run->repeats == 1 ? "" : "s", run->jobs,
		run->jobs == 1 ? "" : "s");
	report_page_close(page, PAGE_ITEM);
}

static void
add_place(const struct report_run *run, const struct report_page *page)
{
	report_page_open(page, PAGE_ITEM);
	report_page_say(page, "Runtime %s, link backend %s", run->runtime, run->link);
	for (size_t i = 0; i < run->congestion.count; i++)
		report_page_say(page, "%s%s", i ? ", " : "; congestion control ",
			run->congestion.items[i].value);
	if (run->awake)
		report_page_say(page, "; cores kept awake: %s", run->awake);
	report_page_say(page, ".");
	report_page_close(page, PAGE_ITEM);
}

static void
add_system(const struct report_run *run, const struct report_page *page)
{
	if (run->system.count == 0)
		return;
	report_page_open(page, PAGE_ITEM);
	for (size_t i = 0; i < run->system.count; i++)
		report_page_say(page, "%s%s: %s", i ? "; " : "", run->system.items[i].name,
			run->system.items[i].value);
	report_page_say(page, ".");
	report_page_close(page, PAGE_ITEM);
}

static void
add_percent(struct report_table *table, struct stat_optional ppm)
{
	struct buf text = {0};

	if (ppm.known && ppm.value >= 0) {
		report_text_fixed(&text, (ppm.value + 50) / 100, 2);
		buf_puts(&text, "%");
	}
	report_table_add(table, buf_text(&text));
	buf_free(&text);
}

static void
add_time(struct report_table *table, struct stat_optional ns)
{
	struct buf text = {0};

	if (ns.known) { /* figures of one column in one unit, and finer than elsewhere */
		report_text_fixed(&text, (ns.value + 500) / 1000, 3);
		buf_puts(&text, " ms");
	}
	report_table_add(table, buf_text(&text));
	buf_free(&text);
}

static void
add_link(struct report_table *table, const struct report *report,
	const struct report_profile *profile)
{
	const struct stat_optional rtt = {.known = true, .value = profile->rtt_ns};
	const struct stat_optional loss = {.known = true,
		.value = (profile->loss_up_ppm + profile->loss_down_ppm + 1) / 2};
	struct report_link link;
	char cells[32];

	report_link_measure(report, profile->name, &link);
	snprintf(cells, sizeof(cells), "%zu", link.cells);
	report_table_add(table, profile->name);
	add_time(table, rtt);
	add_time(table, link.median_ns);
	add_time(table, link.least_ns);
	add_time(table, link.most_ns);
	add_percent(table, loss);
	add_percent(table, link.lost_ppm);
	report_table_add(table, cells);
}

static bool
named_before(const struct report *report, size_t run, const char *name)
{
	for (size_t r = 0; r < run; r++)
		for (size_t p = 0; p < report->runs[r].profile_count; p++)
			if (!strcmp(report->runs[r].profiles[p].name, name))
				return true;
	return false;
}

void
report_links(const struct report *report, const struct report_page *page)
{
	static const char *const titles[] = {"link", "RTT stated", "RTT measured", "least",
		"most", "loss stated", "loss measured", "cells"};
	struct report_table table = {.heads = 1};

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		report_table_column(&table, titles[i], i > 0);
	for (size_t r = 0; r < report->run_count; r++) {
		for (size_t p = 0; p < report->runs[r].profile_count; p++) {
			const struct report_profile *profile = &report->runs[r].profiles[p];

			if (!profile->loopback && !named_before(report, r, profile->name))
				add_link(&table, report, profile);
		}
	}
	if (table.count > table.columns) {
		report_page_put(page, PAGE_HEADING, "Links");
		report_page_put(page, PAGE_PARAGRAPH,
			"Measured by an independent echo before and after each cell; loss is of "
			"the packets of both directions.");
		report_page_table(page, "Links", &table);
	}
	report_table_free(&table);
}

void
report_about(const struct report *report, const struct report_page *page)
{
	for (size_t r = 0; r < report->run_count; r++) {
		add_plan(&report->runs[r], page);
		add_place(&report->runs[r], page);
		add_system(&report->runs[r], page);
	}
}
