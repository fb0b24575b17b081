/* Proves that a program keeps docker/CONTRACT.md before a run trusts it. */
#ifndef RUN_CONTRACT_H
#define RUN_CONTRACT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opts.h"
#include "run/run.h"

/* Run a program (a path, or the name of a file in the present folder) or, when there is no such
 * file, the image of that name through every check, each bounded in time, and say one line a
 * check on `out`:
 *
 *   ok NAME | not ok NAME: what was expected, what came | skip NAME: why | warning NAME: why
 *
 * Takes the process over: it enters a network namespace of its own where the machine allows it,
 * and ends whatever the program leaves behind. EXIT_ALL_WELL; EXIT_CELL_FAILED when a check
 * does not hold; EXIT_BAD_INPUT when it is neither an executable nor an image; EXIT_MACHINE
 * when our own images are not built or the engine fails; EXIT_INTERRUPTED. */
enum exit_status contract_check(const char *name, FILE *out, struct err *err);

/* Write a value that the option must refuse, number `which` from 0, as `name=value`; NULL when
 * there are no more of them. free() it. */
char *contract_bad_value(const struct opt *option, int which);

/* Is what stands behind `ready` the address that was asked for ("127.0.0.1:0"), with a port?
 * -1 with what was expected and what came. */
int contract_ready(const char *asked, const char *text, struct err *err);

/* Open a TCP connection to a serving half in this network namespace. -1 when there is none
 * (UDP).
 */
int contract_connect(const char *address);

#endif
