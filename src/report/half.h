/* The records that one half of a probe, client or server, printed in one repeat. */
#ifndef REPORT_HALF_H
#define REPORT_HALF_H

#include "base/err.h"
#include "stat/record.h"

/* Add one record to the `struct report_repeat` that `repeat` points to, whose `half` is set. -1
 * when it contradicts what was printed before: a metric that the other half has printed too,
 * that changes its unit, or a count printed twice. */
int report_half_take(const struct record *record, void *repeat, struct err *err);

#endif
