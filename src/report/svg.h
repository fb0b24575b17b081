/* The elements our pictures are made of: inline SVG, its looks in one style sheet. Lengths
 * along the axis are in tenths of a pixel, heights in pixels. */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* For the <style> of the page; it takes the colours --ink, --soft, --line and --p0 to --p5. */
extern const char report_svg_style[];

enum report_svg_role {
	SVG_HEAD,   /* of rows */
	SVG_ROW,    /* the label of one */
	SVG_TICK,   /* around its place */
	SVG_BEFORE, /* ends at its place */
};

/* The picture; `label` says what it shows to those who do not see it. */
void report_svg_open(struct buf *out, const char *label, int64_t width, int64_t height);
void report_svg_close(struct buf *out);

void report_svg_text(
	struct buf *out, enum report_svg_role role, int64_t x, int64_t y, const char *text);

/* What a row stands on, from the left edge to `width`. */
void report_svg_band(struct buf *out, int64_t width, int64_t y, int64_t height);

/* Upright lines: one of the grid, and a dotted one that belongs to a series. */
void report_svg_grid(struct buf *out, int64_t x, int64_t from, int64_t to);
void report_svg_guide(struct buf *out, size_t series, int64_t x, int64_t from, int64_t to);

/* A mark of a series, each with a shape and a colour; `title` is shown to who points at it. */
void report_svg_mark(struct buf *out, size_t series, int64_t x, int64_t y, const char *title);

/* A line from `low` to `high`, behind a mark. */
void report_svg_span(struct buf *out, size_t series, int64_t low, int64_t high, int64_t y);

#endif
