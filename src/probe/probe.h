/* What a probe is: one experiment with two halves, a table of options and a table of metrics.
 *
 * A probe is one file. It fills a struct probe, and its main() is probe_main(&probe, ...),
 * which speaks the process contract (docker/CONTRACT.md): arguments in, records out, exit
 * status. A half measures first, into memory it allocated before, and prints afterwards. */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opts.h"
#include "net/addr.h"
#include "net/cpu.h"
#include "net/wait.h"
#include "stat/record.h"

/* Exit statuses of the contract. */
enum probe_exit { PROBE_OK = 0, PROBE_FAILED = 1, PROBE_USAGE = 2, PROBE_UNSUPPORTED = 77 };

struct metric {
	const char *name;
	enum record_unit unit;
	const char *help;
};

/* What a half is asked to do. */
struct probe_call {
	const void *options; /* the probe's own struct, filled from its table */
	struct addr addr;    /* to listen on, or of the peer */
	int64_t samples;     /* run() only */
	int64_t deadline_ns; /* for all of it; CLOCK_MONOTONIC */
	int stop_fd;         /* serve() only: readable once it is to end (SIGTERM, SIGINT) */
};

struct probe {
	const char *name;    /* without "probe-" */
	const char *summary; /* one line for --help */
	const struct opt *options;
	size_t options_size;          /* of the struct they fill */
	const struct metric *metrics; /* of both halves; ends with a row whose name is NULL */

	/* Why it is about one machine and no link, in words for a row; NULL: it is not. */
	const char *loopback;

	/* Refuse what the table alone cannot: -1 is a usage error. May be NULL. */
	int (*check)(const void *options, struct err *err);
	/* … of the number of samples, of run() and where a matrix is checked. May be NULL. */
	int (*check_samples)(const void *options, int64_t samples, struct err *err);

	/* The halves. 0, or an error and -1 (failed) or PROBE_UNSUPPORTED. serve() calls
	 * probe_ready() when it accepts, and prints its counters when told to stop. */
	int (*serve)(const struct probe_call *call, struct err *err);
	int (*run)(const struct probe_call *call, struct err *err);
};

/* The program: exit status for main(). */
int probe_main(const struct probe *probe, int argc, char **argv);

/* Announce the address on which serve() accepts. */
void probe_ready(const struct addr *bound);

/* `sample NAME ns VALUE` for each of `count` values. */
void probe_samples(const char *name, const int64_t *values, size_t count);

/* What to return when listening at call->addr failed, as errno says: PROBE_UNSUPPORTED where it
 * is an IPv6 address and this machine has none, else -1. */
int probe_not_listening(const struct probe_call *call);

/* Let this half have as many files open as the machine allows it. */
void probe_raise_files(void);

/* --help, for people, and describe, for programs. */
void probe_usage(const struct probe *probe, FILE *out);
void probe_describe(const struct probe *probe, FILE *out);

/* How a half waits and where it runs: in every probe's struct, with its two rows. */
struct placement {
	int wait; /* enum wait_how */
	int cpu;  /* enum cpu_placement */
};

#define PLACEMENT_OPTIONS(owner, member)                                                       \
	{.name = "wait",                                                                       \
		.type = OPT_CHOICE,                                                            \
		.offset = offsetof(owner, member.wait),                                        \
		.default_text = "block",                                                       \
		.choices = "block|spin",                                                       \
		.help = "sleep in the system call, or call it over and over"},                 \
	{                                                                                      \
		.name = "cpu", .type = OPT_CHOICE, .offset = offsetof(owner, member.cpu),      \
		.default_text = "any", .choices = "any|same|split",                            \
		.help = "cores of client and server: free, one for both, one each"             \
	}

/* Spinning on one core would only take turns at the scheduler's pace: a usage error. */
int placement_check(const struct placement *placement, struct err *err);

/* Pin this half and print where to (`info core`). 0 or PROBE_UNSUPPORTED. */
int placement_apply(const struct placement *placement, enum cpu_half half, struct err *err);

#endif
