/* What the checks of a contract share. Internal to it. */
#ifndef RUN_CONTRACT_STATE_H
#define RUN_CONTRACT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/clock.h"
#include "run/catalogue.h"
#include "run/command.h"
#include "run/silent.h"
#include "run/trial.h"

#define CONTRACT_USAGE 2
#define CONTRACT_UNSUPPORTED 77

#define CONTRACT_ANSWER_NS (5 * NS_PER_S) /* for what only looks at its arguments */
#define CONTRACT_READY_NS (10 * NS_PER_S) /* as the runner */
#define CONTRACT_STOP_NS (1 * NS_PER_S)   /* after SIGTERM */
#define CONTRACT_GRACE_NS (2 * NS_PER_S)  /* after a deadline, as the runner */

struct contract {
	const char *path; /* of the program */
	FILE *out;
	struct silent silent;   /* a peer that never answers */
	struct probe_desc desc; /* once `described` */
	bool described;
	bool works; /* a pair over IPv4 did what a pair is to do */
	size_t failures;
};

/* One line a check. contract_not_ok(): what was expected, what came. */
void contract_ok(struct contract *contract, const char *name);
void contract_not_ok(struct contract *contract, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void contract_skip(struct contract *contract, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* `ok`, or `not ok` with the text of `err` when `status` is -1. True when ok. */
bool contract_report(
	struct contract *contract, const char *name, int status, const struct err *err);

/* Add these words: contract_words(&command, WORDS("serve", "--listen", addr)). */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
void contract_words(struct command *command, const char *const words[]);

/* Start it and wait for its end, at most so long. -1 when it did not start. */
int contract_ask(struct trial *trial, const char *what, const struct command *command,
	int64_t limit_ns, struct err *err);

/* Release it, and end whatever hides from its process group. Nothing else may run below us. */
void contract_end(struct trial *trial);

/* The checks, in groups. */
void contract_check_usage(struct contract *contract);
void contract_check_values(struct contract *contract);
void contract_check_pairs(struct contract *contract);
void contract_check_deadlines(struct contract *contract);

#endif
