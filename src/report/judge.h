/* Does what was measured meet the expectations of a cell? */
#ifndef REPORT_JUDGE_H
#define REPORT_JUDGE_H

#include "base/buf.h"
#include "report/model.h"

/* Fill in `verdict` and `found` of every expectation of `cell`. A cell that is not ok is judged
 * by the repeats that were; one without any is not judged. */
void report_judge(struct report_cell *cell);

/* "held", "BROKEN", "not judged". */
const char *report_verdict_name(enum report_verdict verdict);

/* Append how many there are of each: "BROKEN 1, held 3"; nothing of none. */
void report_verdicts_text(const size_t counts[static REPORT_VERDICTS], struct buf *out);

#endif
