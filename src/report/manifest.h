/* manifest.json: what a run was meant to do and where it ran. */
#ifndef REPORT_MANIFEST_H
#define REPORT_MANIFEST_H

#include "base/err.h"
#include "report/model.h"

/* Read `dir`/manifest.json. -1 with "FILE:line:column: …" or "FILE: cell 3: …"; `run` is to be
 * released with report_run_free() either way. */
int report_manifest_read(const char *dir, struct report_run *run, struct err *err);

#endif
