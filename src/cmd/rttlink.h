/* What a subcommand of rttlink is. Each has a file of its own, rttlink_NAME.c; the table of
 * them is in rttlink.c. */
#ifndef CMD_RTTLINK_H
#define CMD_RTTLINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/opts.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNSUPPORTED = 77 };

/* What a subcommand is given begins with this. */
struct common_args {
	bool help;
	char **operands; /* what was left beside the options; ends with NULL */
};

struct subcommand {
	const char *name;
	const char *summary;
	const struct opt *options;
	size_t args_size;             /* of the struct that the options fill */
	int (*run)(const void *args); /* returns the exit status */
	const char *help;
	const char *operand; /* what the only one is called; NULL: takes none */
	bool takes_command;  /* any number of operands */
};

extern const struct subcommand subcommand_run, subcommand_up, subcommand_check,
	subcommand_fates, subcommand_agent, subcommand_silent, subcommand_backends;

/* Print why as the last line of stderr, which the runner shows. Returns `status`. */
int rttlink_fail(int status, const struct err *err);

#endif
