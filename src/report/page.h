/* A page that is being written: its sections are made once, whatever format it is in. */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "base/buf.h"
#include "report/table.h"

enum report_mark {
	PAGE_TITLE,
	PAGE_HEADING,
	PAGE_PARAGRAPH,
	PAGE_LIST,
	PAGE_ITEM,
	PAGE_CODE,
	PAGE_STRONG,
	PAGE_MARKS,
};

struct report_format {
	const char *marks[PAGE_MARKS][2]; /* what stands before and behind */
	void (*text)(struct buf *out, const char *text);
	/* `title` is for those who do not see what stands around the table. */
	void (*table)(struct buf *out, const char *title, const struct report_table *table);
};

struct report_page {
	const struct report_format *format;
	struct buf *out; /* the caller's */
};

extern const struct report_format report_markdown;

void report_page_open(const struct report_page *page, enum report_mark mark);
void report_page_close(const struct report_page *page, enum report_mark mark);

/* Append text, escaped as the format needs it. */
void report_page_say(const struct report_page *page, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same between an opened and a closed mark. */
void report_page_put(const struct report_page *page, enum report_mark mark, const char *fmt,
	...) __attribute__((format(printf, 3, 4)));

void report_page_table(
	const struct report_page *page, const char *title, const struct report_table *table);

#endif
