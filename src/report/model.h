/* A run as it is held in memory between reading its records and writing about them. */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "stat/pool.h"
#include "stat/record.h"
#include "stat/status.h"
#include "stat/summary.h"

struct report_profile {
	char *name;
	bool loopback;
	int64_t rtt_ns, jitter_ns;
	int64_t loss_up_ppm, loss_down_ppm;
	int64_t rate_bps; /* 0: unlimited */
};

struct report_fact {
	char *name;
	char *value;
};

struct report_facts {
	struct report_fact *items;
	size_t count, cap;
};

enum report_expect_kind { REPORT_RTTS, REPORT_EQUALS, REPORT_BETWEEN };

enum report_verdict { REPORT_UNJUDGED, REPORT_HELD, REPORT_BROKEN, REPORT_VERDICTS };

struct report_expect {
	char *metric;
	enum report_expect_kind kind;
	double low, high;
	char *text; /* as a reader would say it */
	enum report_verdict verdict;
	double figure; /* what was judged: RTTs, or in the metric's unit */
	char *found;   /* that in words, or why nothing can be said */
};

struct report_metric {
	char name[RECORD_NAME_SIZE];
	bool has_unit; /* not when only errors were counted */
	enum record_unit unit;
	bool is_count; /* a total of each repeat, not samples */
	struct stat_pool pool;
	bool has_errors;
	int64_t errors;
	struct stat_summary figures;
};

struct report_metrics {
	struct report_metric *items; /* in the order they first appeared */
	size_t count, cap;
};

struct report_cell {
	const struct report_run *run;
	const struct report_profile *profile;
	char *id, *probe, *variant;
	struct report_facts options;
	int family;
	int64_t samples;
	struct report_expect *expects;
	size_t expect_count;

	/* From its repeats. What follows `reason` is of those that were ok. */
	size_t done, ok;
	size_t discarded; /* repeats that were run again, their link being out of tolerance */
	enum cell_status status;
	char *reason; /* NULL when ok */
	char *runtime, *link;
	struct report_metrics metrics;
	struct stat_pool echo; /* ns, before and after, all repeats */
	struct stat_optional rtt_measured_ns;
	bool has_loss;
	int64_t link_packets, link_lost; /* both directions */
};

struct report_run {
	char *dir, *name, *matrix, *runtime, *link;
	char *start, *end; /* end is NULL when the run did not get there */
	char *awake;       /* what kept the cores awake and what was asked; NULL: not said */
	int64_t seed, repeats, jobs;
	bool complete;
	struct report_facts system;     /* what the manifest says of the machine */
	struct report_facts congestion; /* congestion control in force, distinct values */
	struct report_profile *profiles;
	size_t profile_count;
	struct report_cell *cells;
	size_t cell_count;
};

struct report {
	struct report_run *runs;
	size_t run_count;
	struct report_totals totals;
};

/* Add name=value unless it is there already. */
void report_facts_add(struct report_facts *facts, const char *name, const char *value);
void report_facts_free(struct report_facts *facts);

/* The metric of that name, or NULL. */
struct report_metric *report_metrics_find(
	const struct report_metrics *metrics, const char *name);

/* A new, empty one at the end; valid until the next is added. */
struct report_metric *report_metrics_add(struct report_metrics *metrics, const char *name);
void report_metrics_free(struct report_metrics *metrics);

void report_run_free(struct report_run *run);

#endif
