/* What probes there are and what they take, as each tells by itself (`probe-X describe`). */
#ifndef RUN_CATALOGUE_H
#define RUN_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/opts.h"
#include "stat/record.h"

struct probe_metric {
	char *name;
	enum record_unit unit;
	char *help;
};

struct probe_desc {
	char *name; /* "handshake" */
	char *path; /* of the binary */
	struct opt
		*options; /* ends with a NULL name; strings owned; offset unused: check only */
	size_t option_count;
	struct probe_metric *metrics;
	size_t metric_count;
};

struct catalogue {
	bool ask_commands; /* may programs named by `command:` be asked, that is, executed? */
	struct probe_desc *probes;
	size_t count;
};

/* Ask every executable `folder`/probe-*; sorted by name. -1 when the folder cannot be read or a
 * probe does not answer as docker/CONTRACT.md says. */
int catalogue_load(const char *folder, struct catalogue *catalogue, struct err *err);

/* Ask one program. -1 when it does not answer as docker/CONTRACT.md says. */
int catalogue_ask(
	const char *path, const char *name, struct probe_desc *probe, struct err *err);

/* Parse what one `describe` printed. */
int catalogue_parse(
	const char *name, const char *text, struct probe_desc *probe, struct err *err);

void probe_desc_free(struct probe_desc *probe);

const struct probe_desc *catalogue_find(const struct catalogue *catalogue, const char *name);

/* Would the probe take name=value? */
int probe_desc_check(
	const struct probe_desc *probe, const char *name, const char *value, struct err *err);

void catalogue_free(struct catalogue *catalogue);

#endif
