/* The format HTML: text escaped, marks as elements, tables that say what heads what. */
#ifndef REPORT_MARKUP_H
#define REPORT_MARKUP_H

#include "base/buf.h"
#include "report/page.h"

extern const struct report_format report_markup;

/* Append `text`, whatever is in it, as text of an element or of a quoted attribute. */
void report_markup_text(struct buf *out, const char *text);

#endif
