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
	char *loopback; /* why its cells at linked profiles are skipped; NULL: they are not */
	bool checks;    /* it has the command `check`, and `path` is a program */
};

struct catalogue {
	bool ask_commands; /* may what `command:` and `image:` name be asked, that is, run? */
	struct probe_desc *probes;
	size_t count;
};

/* Ask every executable `folder`/probe-*; sorted by name. -1 when the folder cannot be read or a
 * probe does not answer as docker/CONTRACT.md says. */
int catalogue_load(const char *folder, struct catalogue *catalogue, struct err *err);

/* Ask one program. -1 when it does not answer as docker/CONTRACT.md says. */
int catalogue_ask(
	const char *path, const char *name, struct probe_desc *probe, struct err *err);

/* Ask an image, in a container without a network. */
int catalogue_ask_image(
	const char *image, const char *name, struct probe_desc *probe, struct err *err);

/* Parse what one `describe` printed. */
int catalogue_parse(
	const char *name, const char *text, struct probe_desc *probe, struct err *err);

void probe_desc_free(struct probe_desc *probe);

const struct probe_desc *catalogue_find(const struct catalogue *catalogue, const char *name);

/* Would a run with these options, `name=value` and a NULL behind them, and so many samples be
 * refused? Asks the probe, if it has the command; -1 with its reason. */
int probe_desc_check_all(const struct probe_desc *probe, int64_t samples,
	const char *const options[], struct err *err);

/* Would the probe take name=value? */
int probe_desc_check(
	const struct probe_desc *probe, const char *name, const char *value, struct err *err);

void catalogue_free(struct catalogue *catalogue);

#endif
