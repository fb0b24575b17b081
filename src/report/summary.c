/* summary.md: the answer, what is unexpected, the tables, the verdicts, the run. */
#include <stdlib.h>

#include "report/headline.h"
#include "report/report.h"
#include "report/sections.h"

static void
add_group(const struct report_group *group, const struct report_page *page)
{
	char *title = report_group_title(group);

	report_page_put(page, PAGE_HEADING, "%s", title);
	report_group_settings(group, page);
	if (report_group_has(group, ROWS_ALL))
		report_side_by_side(group, ROWS_ALL, page);
	else
		report_page_put(page, PAGE_PARAGRAPH, "No figures.");
	report_group_sizes(group, page);
	free(title);
}

void
report_summary(const struct report *report, struct buf *out)
{
	const struct report_page page = {&report_markdown, out};
	struct report_group *groups;
	size_t count;

	groups = report_groups(report, &count);
	report_page_put(&page, PAGE_TITLE, "%s", report->runs[0].matrix);
	report_outcome(report, &page);
	report_unexpected(report, &page);
	report_headline(groups, count, &page);
	for (size_t i = 0; i < count; i++) {
		add_group(&groups[i], &page);
		report_group_free(&groups[i]);
	}
	free(groups);
	report_notes(&page);
	report_expected(report, &page);
	report_links(report, &page);
	report_page_put(&page, PAGE_HEADING, "Run");
	report_about(report, &page);
}
