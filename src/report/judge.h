/* Does what was measured meet the expectations of a cell? */
#ifndef REPORT_JUDGE_H
#define REPORT_JUDGE_H

#include "report/model.h"

/* Fill in `verdict` and `found` of every expectation of `cell`. A cell that is not ok is judged
 * by the repeats that were; one without any is not judged. */
void report_judge(struct report_cell *cell);

/* "held", "BROKEN", "not judged". */
const char *report_verdict_name(enum report_verdict verdict);

#endif
