/* Text and marks, and the format Markdown. */
#include "report/page.h"

#include <stdarg.h>

static void
markdown_table(struct buf *out, const char *title, const struct report_table *table)
{
	(void)title;
	report_table_print(table, out);
	buf_puts(out, "\n");
}

const struct report_format report_markdown = {
	.marks =
		{
			[PAGE_TITLE] = {"# ", "\n\n"},
			[PAGE_HEADING] = {"## ", "\n\n"},
			[PAGE_PARAGRAPH] = {"", "\n\n"},
			[PAGE_LIST] = {"", "\n"},
			[PAGE_ITEM] = {"- ", "\n"},
			[PAGE_CODE] = {"`", "`"},
			[PAGE_STRONG] = {"**", "**"},
		},
	.text = buf_puts,
	.table = markdown_table,
};

void
report_page_open(const struct report_page *page, enum report_mark mark)
{
	buf_puts(page->out, page->format->marks[mark][0]);
}

void
report_page_close(const struct report_page *page, enum report_mark mark)
{
	buf_puts(page->out, page->format->marks[mark][1]);
}

static void
say(const struct report_page *page, const char *fmt, va_list args)
{
	struct buf text = {0};

	buf_vprintf(&text, fmt, args);
	page->format->text(page->out, buf_text(&text));
	buf_free(&text);
}

void
report_page_say(const struct report_page *page, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(page, fmt, args);
	va_end(args);
}

void
report_page_put(const struct report_page *page, enum report_mark mark, const char *fmt, ...)
{
	va_list args;

	report_page_open(page, mark);
	va_start(args, fmt);
	say(page, fmt, args);
	va_end(args);
	report_page_close(page, mark);
}

void
report_page_table(
	const struct report_page *page, const char *title, const struct report_table *table)
{
	page->format->table(page->out, title, table);
}
