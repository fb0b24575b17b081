/* Links, as their own checks and counters saw them. */
#include "report/link.h"

#include <string.h>

#include "report/text.h"

static struct stat_optional
known(int64_t value)
{
	return (struct stat_optional){.known = true, .value = value};
}

static void
summarize(const struct stat_pool *rtts, struct report_link *link)
{
	struct stat_sorted sorted = stat_pool_sort(rtts);

	if (sorted.count) {
		link->median_ns = known(sorted.values[(sorted.count - 1) / 2]);
		link->least_ns = known(sorted.values[0]);
		link->most_ns = known(sorted.values[sorted.count - 1]);
	}
	stat_sorted_free(&sorted);
}

void
report_link_measure(const struct report *report, const char *profile, struct report_link *link)
{
	struct stat_pool rtts = {0};
	int64_t packets = 0, lost = 0;

	*link = (struct report_link){0};
	for (size_t r = 0; r < report->run_count; r++) {
		for (size_t i = 0; i < report->runs[r].cell_count; i++) {
			const struct report_cell *cell = &report->runs[r].cells[i];

			if (strcmp(cell->profile->name, profile) ||
				!cell->rtt_measured_ns.known)
				continue;
			link->cells++;
			stat_pool_add(&rtts, cell->rtt_measured_ns.value);
			packets += cell->link_packets;
			lost += cell->link_lost;
		}
	}
	stat_pool_end_repeat(&rtts);
	summarize(&rtts, link);
	if (packets > 0)
		link->lost_ppm = known(report_text_scaled(lost, packets, 6));
	stat_pool_free(&rtts);
}
