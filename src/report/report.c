/* Loads runs and writes what can be made of them. */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/cell.h"
#include "report/csv.h"
#include "report/judge.h"
#include "report/manifest.h"
#include "report/model.h"

static void
count_cell(struct report_totals *totals, const struct report_cell *cell)
{
	size_t *const by_status[] = {
		[STATUS_OK] = &totals->ok,
		[STATUS_FAILED] = &totals->failed,
		[STATUS_TIMEOUT] = &totals->timeout,
		[STATUS_INVALID_LINK] = &totals->invalid_link,
		[STATUS_UNSUPPORTED] = &totals->unsupported,
		[STATUS_SKIPPED] = &totals->skipped,
	};
	size_t *const by_verdict[] = {
		[REPORT_HELD] = &totals->held,
		[REPORT_BROKEN] = &totals->broken,
		[REPORT_UNJUDGED] = &totals->unjudged,
	};

	totals->cells++;
	(*by_status[cell->status])++;
	totals->repeats_planned += (size_t)cell->run->repeats;
	totals->repeats_done += cell->done;
	totals->repeats_ok += cell->ok;
	totals->repeats_discarded += cell->discarded;
	for (size_t i = 0; i < cell->expect_count; i++)
		(*by_verdict[cell->expects[i].verdict])++;
}

static int
by_id(const void *left, const void *right)
{
	const struct report_cell *const *a = left, *const *b = right;

	return strcmp((*a)->id, (*b)->id);
}

/* A cell that is there twice would be counted twice, or its figures depend on who came last. */
static int
check_unique(const struct report *report, struct err *err)
{
	const struct report_cell **all;
	size_t count = 0;
	int status = 0;

	for (size_t r = 0; r < report->run_count; r++)
		count += report->runs[r].cell_count;
	all = alloc_zero(count, sizeof(*all));
	count = 0;
	for (size_t r = 0; r < report->run_count; r++)
		for (size_t i = 0; i < report->runs[r].cell_count; i++)
			all[count++] = &report->runs[r].cells[i];
	qsort(all, count, sizeof(*all), by_id);
	for (size_t i = 1; i < count && !status; i++)
		if (!strcmp(all[i - 1]->id, all[i]->id))
			status = err_set(err, "cell %s is in both %s and %s", all[i]->id,
				all[i - 1]->run->dir, all[i]->run->dir);
	free(all);
	return status;
}

static bool
same_profile(const struct report_profile *a, const struct report_profile *b)
{
	return a->loopback == b->loopback && a->rtt_ns == b->rtt_ns &&
	       a->jitter_ns == b->jitter_ns && a->loss_up_ppm == b->loss_up_ppm &&
	       a->loss_down_ppm == b->loss_down_ppm && a->rate_bps == b->rate_bps;
}

/* One name, one link: else a column of the summary would mix two. */
static int
check_profiles(const struct report_run *a, const struct report_run *b, struct err *err)
{
	for (size_t i = 0; i < a->profile_count; i++)
		for (size_t k = 0; k < b->profile_count; k++)
			if (!strcmp(a->profiles[i].name, b->profiles[k].name) &&
				!same_profile(&a->profiles[i], &b->profiles[k]))
				return err_set(err,
					"profile %s is not the same link in %s and in %s",
					a->profiles[i].name, a->dir, b->dir);
	return 0;
}

/* What was kept without its raw records would be replaced by a report of nothing. */
static int
check_records(const char *dir, struct err *err)
{
	char *cells = alloc_printf("%s/cells", dir);
	struct stat st;
	int status = 0;

	if (stat(cells, &st) < 0 && errno == ENOENT)
		status = err_set(err,
			"%s: no raw records (cells/) here, so nothing to make matrix.csv, "
			"summary.md and report.html from",
			dir);
	free(cells);
	return status;
}

static int
load_plans(struct report *report, const char *const dirs[], size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		report->run_count++;
		if (report_manifest_read(dirs[i], &report->runs[i], err) < 0 ||
			check_profiles(&report->runs[0], &report->runs[i], err) < 0)
			return -1;
	}
	return check_unique(report, err);
}

static int
load_cells(struct report *report, struct err *err)
{
	for (size_t r = 0; r < report->run_count; r++) {
		struct report_run *run = &report->runs[r];

		if (check_records(run->dir, err) < 0)
			return -1;
		for (size_t i = 0; i < run->cell_count; i++) {
			if (report_cell_read(run, &run->cells[i], err) < 0)
				return -1;
			report_judge(&run->cells[i]);
			count_cell(&report->totals, &run->cells[i]);
		}
	}
	return 0;
}

struct report *
report_load(const char *const dirs[], size_t count, struct err *err)
{
	struct report *report = alloc_zero(1, sizeof(*report));

	report->runs = alloc_zero(count, sizeof(*report->runs));
	if (count == 0) {
		err_set(err, "no run directory given");
	} else if (load_plans(report, dirs, count, err) == 0 && load_cells(report, err) == 0) {
		return report;
	}
	report_free(report);
	return NULL;
}

void
report_free(struct report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->run_count; i++)
		report_run_free(&report->runs[i]);
	free(report->runs);
	free(report);
}

const struct report_totals *
report_totals(const struct report *report)
{
	return &report->totals;
}

void
report_csv(const struct report *report, struct buf *out)
{
	report_csv_header(out);
	for (size_t r = 0; r < report->run_count; r++)
		for (size_t i = 0; i < report->runs[r].cell_count; i++)
			report_csv_cell(out, &report->runs[r].cells[i]);
}

static int
write_one(const struct report *report, const char *dir, const char *name,
	void (*make)(const struct report *report, struct buf *out), struct err *err)
{
	char *path = alloc_printf("%s/%s", dir, name);
	struct buf text = {0};
	int status;

	make(report, &text);
	status = file_write(path, text.data, text.len, err);
	buf_free(&text);
	free(path);
	return status;
}

int
report_write(const struct report *report, const char *dir, struct err *err)
{
	if (write_one(report, dir, "matrix.csv", report_csv, err) < 0 ||
		write_one(report, dir, "summary.md", report_summary, err) < 0)
		return -1;
	return write_one(report, dir, "report.html", report_html, err);
}
