/* What the checks of a contract share. Internal to it. */
#ifndef RUN_CONTRACT_STATE_H
#define RUN_CONTRACT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/clock.h"
#include "run/catalogue.h"
#include "run/command.h"
#include "run/contract_subject.h"
#include "run/trial.h"

#define CONTRACT_USAGE 2
#define CONTRACT_UNSUPPORTED 77

#define CONTRACT_ANSWER_NS (5 * NS_PER_S) /* for what only looks at its arguments */
#define CONTRACT_READY_NS (10 * NS_PER_S) /* as the runner */
#define CONTRACT_STOP_NS (1 * NS_PER_S)   /* after SIGTERM */
#define CONTRACT_GRACE_NS (2 * NS_PER_S)  /* after a deadline, as the runner */

struct contract {
	struct subject subject; /* what is checked */
	FILE *out;
	struct probe_desc desc; /* once `described` */
	bool starts;            /* it could be executed */
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

/* For command_add_words(). */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Start one execution with these arguments; `what` is for messages, `locale` may be NULL. -1
 * when it could not be started. */
int contract_start(struct contract *contract, struct trial *trial, const char *what,
	const char *locale, const struct command *words, struct err *err);

/* Start one and wait for its end, at most so long. */
int contract_ask(struct contract *contract, struct trial *trial, const struct command *words,
	int64_t limit_ns, struct err *err);

/* Release it, and end whatever hides from its process group. No other of them may run. */
void contract_end(const struct contract *contract, struct trial *trial);

/* The checks, in groups. */
void contract_check_usage(struct contract *contract);
void contract_check_values(struct contract *contract);
void contract_check_pairs(struct contract *contract);
void contract_check_deadlines(struct contract *contract);

#endif
