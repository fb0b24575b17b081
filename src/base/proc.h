/* Child processes that cannot outlive us or their deadline. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Open /dev/null on each of stdin, stdout and stderr that is closed, so that no file or pipe of
 * ours gets its number. First thing in a main(). */
void proc_fill_std(void);

/* What a short-lived command did. Zero-initialise; release with proc_output_free(). */
struct proc_output {
	struct buf out;  /* its stdout */
	struct buf err;  /* its stderr */
	int exit_status; /* 0..255; 128 + signal when a signal ended it */
	bool timed_out;  /* it was killed at the deadline */
};

/* Run argv[0] (looked up in PATH) with stdin from /dev/null, collect what it prints, wait for
 * its end or kill it at `deadline_ns` (CLOCK_MONOTONIC). Returns 0 whenever the command was
 * started and ended, whatever its status; -1 when it could not be started. */
int proc_capture(const char *const argv[], int64_t deadline_ns, struct proc_output *output,
	struct err *err);

void proc_output_free(struct proc_output *output);

/* The last line of `text` that is not blank, without its newline, as a string of its own; "" if
 * there is none. For error messages. free() it. */
char *proc_last_line(const struct buf *text);

/* To be called in a forked child: be killed when the parent (whose pid was `parent`) dies.
 * Ends the child at once if that happened already. */
void proc_die_with_parent(pid_t parent);

/* 0..255 from a wait status; 128 + signal after a signal. */
int proc_status(int wait_status);

#endif
