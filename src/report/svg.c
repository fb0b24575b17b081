/* SVG. */
#include "report/svg.h"

#include <inttypes.h>

#include "report/markup.h"
#include "report/text.h"

#define COLOURS 6

const char report_svg_style[] =
	"svg{display:block;max-width:100%;min-width:46rem;height:auto;font:12px ui-monospace,monospace}\n"
	"svg text{fill:var(--ink)}\n"
	"svg .head{font-weight:700}\n"
	"svg .tick{text-anchor:middle;fill:var(--soft)}\n"
	"svg .before{text-anchor:end;fill:var(--soft)}\n"
	"svg .grid{stroke:var(--line)}\n"
	"svg .guide{stroke-dasharray:2 3;opacity:.8}\n"
	"svg rect{fill:var(--soft);opacity:.09}\n"
	"svg .p0{fill:var(--p0);stroke:var(--p0)}\n"
	"svg .p1{fill:var(--p1);stroke:var(--p1)}\n"
	"svg .p2{fill:var(--p2);stroke:var(--p2)}\n"
	"svg .p3{fill:var(--p3);stroke:var(--p3)}\n"
	"svg .p4{fill:var(--p4);stroke:var(--p4)}\n"
	"svg .p5{fill:var(--p5);stroke:var(--p5)}\n";

/* Around their middle. */
static const char *const shapes[] = {
	"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
	"m-3.5-3.5h7v7h-7z",
	"m0-5l5 5-5 5-5-5z",
	"m0-5l4.5 8h-9z",
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

void
report_svg_open(struct buf *out, const char *label, int64_t width, int64_t height)
{
	buf_puts(out, "<svg role=\"img\" aria-label=\"");
	report_markup_text(out, label);
	buf_printf(out,
		"\" width=\"%" PRId64 "\" height=\"%" PRId64 "\" viewBox=\"0 0 %" PRId64
		" %" PRId64 "\">\n",
		width / 10, height, width / 10, height);
}

void
report_svg_close(struct buf *out)
{
	buf_puts(out, "</svg>\n");
}

void
report_svg_text(
	struct buf *out, enum report_svg_role role, int64_t x, int64_t y, const char *text)
{
	static const char *const classes[] = {
		[SVG_HEAD] = "head",
		[SVG_ROW] = "row",
		[SVG_TICK] = "tick",
		[SVG_BEFORE] = "before",
	};

	buf_printf(out, "<text class=\"%s\" x=\"", classes[role]);
	report_text_fixed(out, x, 1);
	buf_printf(out, "\" y=\"%" PRId64 "\">", y);
	report_markup_text(out, text);
	buf_puts(out, "</text>\n");
}

void
report_svg_band(struct buf *out, int64_t width, int64_t y, int64_t height)
{
	buf_printf(out,
		"<rect y=\"%" PRId64 "\" width=\"%" PRId64 "\" height=\"%" PRId64 "\"/>\n", y,
		width / 10, height);
}

static void
begin_path(struct buf *out, int64_t x, int64_t y)
{
	buf_puts(out, " d=\"M");
	report_text_fixed(out, x, 1);
	buf_printf(out, " %" PRId64, y);
}

void
report_svg_grid(struct buf *out, int64_t x, int64_t from, int64_t to)
{
	buf_puts(out, "<path class=\"grid\"");
	begin_path(out, x, from);
	buf_printf(out, "V%" PRId64 "\"/>\n", to);
}

void
report_svg_guide(struct buf *out, size_t series, int64_t x, int64_t from, int64_t to)
{
	buf_printf(out, "<path class=\"guide p%zu\"", series % COLOURS);
	begin_path(out, x, from);
	buf_printf(out, "V%" PRId64 "\"/>\n", to);
}

void
report_svg_mark(struct buf *out, size_t series, int64_t x, int64_t y, const char *title)
{
	buf_printf(out, "<path class=\"p%zu\"", series % COLOURS);
	begin_path(out, x, y);
	buf_printf(out, "%s\"><title>", shapes[series % SHAPES]);
	report_markup_text(out, title);
	buf_puts(out, "</title></path>\n");
}

void
report_svg_span(struct buf *out, size_t series, int64_t low, int64_t high, int64_t y)
{
	buf_printf(out, "<path class=\"p%zu\"", series % COLOURS);
	begin_path(out, low, y);
	buf_puts(out, "H");
	report_text_fixed(out, high, 1);
	buf_puts(out, "\"/>\n");
}
