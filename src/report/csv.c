/* RFC 4180, with line feeds alone as line ends. */
#include "report/csv.h"

#include <inttypes.h>
#include <string.h>

#include "report/text.h"

void
report_csv_field(struct buf *out, const char *text)
{
	bool quoted = strpbrk(text, ",\"\r\n") != NULL;

	if (out->len && out->data[out->len - 1] != '\n')
		buf_puts(out, ",");
	if (!quoted) {
		buf_puts(out, text);
		return;
	}
	buf_puts(out, "\"");
	for (; *text; text++) {
		if (*text == '"')
			buf_puts(out, "\"");
		buf_add(out, text, 1);
	}
	buf_puts(out, "\"");
}

static void
add_text(struct buf *out, const char *text)
{
	struct buf clean = {0};

	report_text_clean(&clean, text ? text : "");
	report_csv_field(out, buf_text(&clean));
	buf_free(&clean);
}

static void
add_number(struct buf *out, bool known, int64_t value)
{
	buf_puts(out, ",");
	if (known)
		buf_printf(out, "%" PRId64, value);
}

static void
add_fixed(struct buf *out, bool known, int64_t scaled, int decimals)
{
	buf_puts(out, ",");
	if (known && scaled >= 0)
		report_text_fixed(out, scaled, decimals);
}

void
report_csv_header(struct buf *out)
{
	buf_puts(out,
		"schema,run,cell,probe,variant,profile,family,runtime,link,repeats,metric,unit,"
		"n,"
		"errors,min,mean,stddev,p50,p50_lo,p50_hi,p90,p99,p999,max,rtt_configured_ns,"
		"rtt_measured_ns,loss_configured,loss_measured,rtts,status,reason\n");
}

/* The columns from schema to repeats. */
static void
add_cell(struct buf *out, const struct report_cell *cell)
{
	buf_puts(out, "1");
	add_text(out, cell->run->name);
	add_text(out, cell->id);
	add_text(out, cell->probe);
	add_text(out, cell->variant);
	add_text(out, cell->profile->name);
	add_number(out, true, cell->family);
	add_text(out, cell->runtime);
	add_text(out, cell->link);
	add_number(out, true, (int64_t)cell->ok);
}

/* The columns from metric to max. */
static void
add_metric(struct buf *out, const struct report_metric *metric)
{
	const struct stat_summary *figures = &metric->figures;
	const struct stat_optional in_order[] = {figures->min, figures->mean, figures->stddev,
		figures->p50, figures->p50_lo, figures->p50_hi, figures->p90, figures->p99,
		figures->p999, figures->max};

	add_text(out, metric->name);
	add_text(out, metric->has_unit ? record_unit_name(metric->unit) : "");
	add_number(out, true, (int64_t)figures->n);
	add_number(out, metric->has_errors, metric->errors);
	for (size_t i = 0; i < sizeof(in_order) / sizeof(in_order[0]); i++)
		add_number(out, in_order[i].known, in_order[i].value);
}

/* The columns from rtt_configured_ns to reason. */
static void
add_link(struct buf *out, const struct report_cell *cell, const struct report_metric *metric)
{
	const struct report_profile *profile = cell->profile;
	bool linked = !profile->loopback;
	bool lost = linked && cell->has_loss && cell->link_packets > 0;
	bool rtts = linked && metric->has_unit && metric->unit == RECORD_NS &&
		    !metric->is_count && metric->figures.p50.known &&
		    cell->rtt_measured_ns.known && cell->rtt_measured_ns.value > 0;

	add_number(out, linked, profile->rtt_ns);
	add_number(out, linked && cell->rtt_measured_ns.known, cell->rtt_measured_ns.value);
	add_fixed(out, linked, (profile->loss_up_ppm + profile->loss_down_ppm + 1) / 2, 4);
	add_fixed(out, lost,
		lost ? report_text_scaled(cell->link_lost, cell->link_packets, 6) : 0, 4);
	add_fixed(out, rtts,
		rtts ? report_text_scaled(
			       metric->figures.p50.value, cell->rtt_measured_ns.value, 3)
		     : 0,
		3);
	add_text(out, status_name(cell->status));
	add_text(out, cell->reason);
	buf_puts(out, "\n");
}

void
report_csv_cell(struct buf *out, const struct report_cell *cell)
{
	static const struct report_metric none;

	for (size_t i = 0; i < cell->metrics.count; i++) {
		add_cell(out, cell);
		add_metric(out, &cell->metrics.items[i]);
		add_link(out, cell, &cell->metrics.items[i]);
	}
	if (cell->metrics.count)
		return;
	add_cell(out, cell);
	add_metric(out, &none);
	add_link(out, cell, &none);
}
