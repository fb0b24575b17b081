/* Reads a trace: a whole number of milliseconds a line. */
#include "link/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"

#define LINE_SIZE 64
#define TRACE_MS_MAX (INT64_C(7) * 24 * 3600 * 1000) /* a week */

static int
add_line(struct trace *trace, size_t *cap, const char *file, size_t line, const char *text,
	struct err *err)
{
	int64_t ms;

	if (units_parse_count(text, &ms, NULL) < 0 || ms > TRACE_MS_MAX)
		return err_set(err,
			"%s:%zu: '%.40s': expected a time in whole milliseconds, up to a week",
			file, line, text);
	if (trace->count && ms * NS_PER_MS < trace->at_ns[trace->count - 1])
		return err_set(err,
			"%s:%zu: %" PRId64 " ms is before the delivery of the line above", file,
			line, ms);
	trace->at_ns = alloc_grow(trace->at_ns, trace->count, cap, sizeof(*trace->at_ns));
	trace->at_ns[trace->count++] = ms * NS_PER_MS;
	return 0;
}

/* The line at `text`, without its end, as far as there is room. */
static void
copy_line(const char *text, size_t len, char line[static LINE_SIZE])
{
	if (len && text[len - 1] == '\r')
		len--;
	snprintf(line, LINE_SIZE, "%.*s", (int)(len < LINE_SIZE ? len : LINE_SIZE), text);
}

/* What is not plain text does not get into a message, and no NUL hides the rest of a line. */
static int
check_text(const char *file, size_t line, const char *text, size_t len, struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];

		if ((byte < ' ' || byte > '~') && !(byte == '\r' && i + 1 == len))
			return err_set(err, "%s:%zu: byte 0x%02x: not a number", file, line,
				(unsigned)byte);
	}
	return 0;
}

static int
parse(struct trace *trace, const char *file, const char *text, size_t len, struct err *err)
{
	const char *end = text + len;
	size_t cap = 0;

	for (size_t line = 1; text < end; line++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		char words[LINE_SIZE];

		if (!newline)
			newline = end;
		copy_line(text, (size_t)(newline - text), words);
		if (check_text(file, line, text, (size_t)(newline - text), err) < 0)
			return -1;
		if (newline - text >= LINE_SIZE)
			return err_set(err, "%s:%zu: '%.40s...': longer than any time", file,
				line, words);
		if (add_line(trace, &cap, file, line, words, err) < 0)
			return -1;
		text = newline + 1;
	}
	if (trace->count == 0 || trace->at_ns[trace->count - 1] == 0)
		return err_set(err,
			"%s: expected a delivery after 0 ms: the time of the last one is the "
			"trace's length",
			file);
	trace->length_ns = trace->at_ns[trace->count - 1];
	return 0;
}

struct trace *
trace_parse(const char *file, const char *text, size_t len, struct err *err)
{
	struct trace *trace = alloc_zero(1, sizeof(*trace));

	if (parse(trace, file, text, len, err) == 0)
		return trace;
	trace_free(trace);
	return NULL;
}

void
trace_free(struct trace *trace)
{
	if (trace)
		free(trace->at_ns);
	free(trace);
}

int64_t
trace_longest_gap_ns(const struct trace *trace)
{
	int64_t longest = trace->at_ns[0]; /* the end is a delivery, and the start behind it */

	for (size_t i = 1; i < trace->count; i++)
		if (trace->at_ns[i] - trace->at_ns[i - 1] > longest)
			longest = trace->at_ns[i] - trace->at_ns[i - 1];
	return longest;
}

int64_t
trace_mean_bps(const struct trace *trace)
{
	double bits = (double)trace->count * TRACE_BYTES * 8;

	return (int64_t)(bits * (double)NS_PER_S / (double)trace->length_ns);
}
