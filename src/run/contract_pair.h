/* One pair of the program under check: a serving half, clients, and how each of them did.
 * Internal to the contract. */
#ifndef RUN_CONTRACT_PAIR_H
#define RUN_CONTRACT_PAIR_H

#include "run/contract_state.h"
#include "run/tally.h"

#define PAIR_SAMPLES 3

/* Under what a pair runs. */
struct pair_setting {
	const char *listen; /* "127.0.0.1:0" */
	const char *locale; /* NULL: as it is */
	bool defaults;      /* give every option its default */
};

enum pair_end { PAIR_OK, PAIR_BAD, PAIR_UNSUPPORTED };

/* Initialise with PAIR_INIT; release with pair_free(). Must stay where it is. */
struct pair {
	struct trial serve, run;
	struct tally served, ran; /* after pair_read() */
};

#define PAIR_INIT                                                                              \
	{                                                                                      \
		.serve = TRIAL_INIT, .run = TRIAL_INIT                                         \
	}

/* Start the serving half and wait for its ready line. What is not PAIR_OK has its text in
 * `err`: what was expected and what came, or why it cannot be here. */
enum pair_end pair_serve(struct pair *pair, struct contract *contract,
	const struct pair_setting *setting, struct err *err);

/* Run a client against it, after the one before has ended. */
enum pair_end pair_run(struct pair *pair, struct contract *contract,
	const struct pair_setting *setting, struct err *err);

/* SIGTERM to the serving half: -1 unless it ends with 0 in time. */
int pair_stop(struct pair *pair, const struct contract *contract, struct err *err);

/* Read what both halves printed, once they ended. -1 at the first line that is no record. */
int pair_read(struct pair *pair, struct err *err);

void pair_free(struct pair *pair, const struct contract *contract);

#endif
