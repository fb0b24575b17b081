/* Run facts and links. */
#include "report/summary.h"

#include <inttypes.h>
#include <string.h>

#include "report/table.h"
#include "report/text.h"

static void
add_run(const struct report_run *run, struct buf *out)
{
	size_t shown = 0;

	buf_printf(out,
		"- Run `%s` of matrix %s, %s to %s, seed %" PRId64 ", %" PRId64
		" repeat%s, %" PRId64 " job%s.\n",
		run->name, run->matrix, run->start, run->end ? run->end : "(not ended)",
		run->seed, run->repeats, run->repeats == 1 ? "" : "s", run->jobs,
		run->jobs == 1 ? "" : "s");
	buf_printf(out, "- Runtime %s, link backend %s", run->runtime, run->link);
	for (size_t i = 0; i < run->congestion.count; i++)
		buf_printf(out, "%s%s", i ? ", " : "; congestion control ",
			run->congestion.items[i].value);
	if (run->awake)
		buf_printf(out, "; cores kept awake: %s", run->awake);
	buf_puts(out, ".\n");
	for (size_t i = 0; i < run->system.count; i++)
		buf_printf(out, "%s%s: %s", shown++ ? "; " : "- ", run->system.items[i].name,
			run->system.items[i].value);
	buf_puts(out, shown ? ".\n" : "");
}

/* What all cells of one profile measured. */
struct link {
	size_t cells;
	struct stat_pool rtts; /* measured by each cell */
	int64_t packets, lost;
};

static void
measure(const struct report *report, const char *profile, struct link *link)
{
	for (size_t r = 0; r < report->run_count; r++) {
		for (size_t i = 0; i < report->runs[r].cell_count; i++) {
			const struct report_cell *cell = &report->runs[r].cells[i];

			if (strcmp(cell->profile->name, profile) ||
				!cell->rtt_measured_ns.known)
				continue;
			link->cells++;
			stat_pool_add(&link->rtts, cell->rtt_measured_ns.value);
			link->packets += cell->link_packets;
			link->lost += cell->link_lost;
		}
	}
	stat_pool_end_repeat(&link->rtts);
}

static void
add_percent(struct report_table *table, bool known, int64_t ppm)
{
	struct buf text = {0};

	if (known && ppm >= 0) {
		report_text_fixed(&text, (ppm + 50) / 100, 2);
		buf_puts(&text, "%");
	}
	report_table_add(table, buf_text(&text));
	buf_free(&text);
}

static void
add_time(struct report_table *table, bool known, int64_t ns)
{
	struct buf text = {0};

	if (known) { /* figures of one column in one unit, and finer than elsewhere */
		report_text_fixed(&text, (ns + 500) / 1000, 3);
		buf_puts(&text, " ms");
	}
	report_table_add(table, buf_text(&text));
	buf_free(&text);
}

static void
add_link(struct report_table *table, const struct report *report,
	const struct report_profile *profile)
{
	struct link link = {0};
	struct stat_sorted rtts;
	char cells[32];
	bool any;

	measure(report, profile->name, &link);
	rtts = stat_pool_sort(&link.rtts);
	any = rtts.count > 0;
	snprintf(cells, sizeof(cells), "%zu", link.cells);
	report_table_add(table, profile->name);
	add_time(table, true, profile->rtt_ns);
	add_time(table, any, any ? rtts.values[(rtts.count - 1) / 2] : 0);
	add_time(table, any, any ? rtts.values[0] : 0);
	add_time(table, any, any ? rtts.values[rtts.count - 1] : 0);
	add_percent(table, true, (profile->loss_up_ppm + profile->loss_down_ppm + 1) / 2);
	add_percent(table, link.packets > 0,
		link.packets > 0 ? report_text_scaled(link.lost, link.packets, 6) : 0);
	report_table_add(table, cells);
	stat_sorted_free(&rtts);
	stat_pool_free(&link.rtts);
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

static void
add_links(const struct report *report, struct buf *out)
{
	static const char *const titles[] = {"link", "RTT stated", "RTT measured", "least",
		"most", "loss stated", "loss measured", "cells"};
	struct report_table table = {0};

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
		buf_puts(out,
			"## Links\n\nMeasured by an independent echo before and after each "
			"cell; loss is of the packets of both directions.\n\n");
		report_table_print(&table, out);
		buf_puts(out, "\n");
	}
	report_table_free(&table);
}

void
report_about(const struct report *report, struct buf *out)
{
	add_links(report, out);
	buf_puts(out, "## Run\n\n");
	for (size_t r = 0; r < report->run_count; r++)
		add_run(&report->runs[r], out);
}
