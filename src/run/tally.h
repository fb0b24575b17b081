/* What the records of one half hold: every metric with its unit and how often it came. Pure. */
#ifndef RUN_TALLY_H
#define RUN_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "run/catalogue.h"
#include "stat/record.h"

struct tally_metric {
	char name[RECORD_NAME_SIZE];
	enum record_kind kind; /* RECORD_SAMPLE or RECORD_COUNT */
	enum record_unit unit;
	int64_t samples; /* of a sampled one */
	int64_t value;   /* of a count */
};

/* Zero-initialise; release with tally_free(). */
struct tally {
	struct tally_metric *metrics;
	size_t count, cap;
};

/* Add what one half printed. -1 with the line at the first that is not a record, a count that
 * comes twice or a metric that changes its kind or unit. */
int tally_read(struct tally *tally, const struct buf *output, struct err *err);

/* Is at least one measurement in it, be it a sample or a count? -1 if not. */
int tally_measured(const struct tally *tally, struct err *err);

/* Did a sampled metric take `wanted` samples, those that were tried and lost included? No
 * objection to a half that only counts. -1 with what came. */
int tally_complete(const struct tally *tally, int64_t wanted, struct err *err);

/* Does `describe` list every metric, with its unit? -1 with the first it does not. */
int tally_listed(const struct tally *tally, const struct probe_desc *desc, struct err *err);

/* Is no metric in both? -1 with the first that is. */
int tally_apart(const struct tally *a, const struct tally *b, struct err *err);

void tally_free(struct tally *tally);

#endif
