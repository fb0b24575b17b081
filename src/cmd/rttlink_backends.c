/* `rttlink backends`: which of them work on this machine. */
#include <stdio.h>

#include "cmd/rttlink_args.h"
#include "stat/record.h"

static const struct opt options[] = {HELP_ROW, {0}};

static int
run(const void *given)
{
	size_t working = 0;

	(void)given;
	for (size_t i = 0; i < BACKENDS; i++) {
		struct err err;

		if (backend_try(backends[i], &err) == 0) {
			record_info(stdout, backends[i]->name, "ok");
			working++;
		} else {
			record_info(stdout, backends[i]->name, "unsupported: %s", err.text);
		}
	}
	return working ? EXIT_OK : EXIT_UNSUPPORTED;
}

const struct subcommand subcommand_backends = {
	.name = "backends",
	.summary = "say which backends work on this machine, and what mends the others",
	.options = options,
	.args_size = sizeof(struct common_args),
	.run = run,
	.help = "Tries each in namespaces made for it. Needs root or user namespaces.\n",
};
