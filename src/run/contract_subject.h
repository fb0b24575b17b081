/* What the contract is checked of: a program of this machine, or an image of the engine. All
 * its executions see one network namespace, in which a peer that never answers is. Internal to
 * the contract. */
#ifndef RUN_CONTRACT_SUBJECT_H
#define RUN_CONTRACT_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/silent.h"
#include "run/command.h"
#include "run/docker.h"
#include "run/images.h"
#include "run/trial.h"

struct subject;

/* A client that connects and says nothing. */
struct caller {
	int fd;             /* -1: none here */
	struct trial trial; /* that of a process which has the connection */
};

#define CALLER_INIT                                                                            \
	{                                                                                      \
		.fd = -1, .trial = TRIAL_INIT                                                  \
	}

struct subject_kind {
	/* Make what all executions share, the silent peer included. -1: this machine cannot. */
	int (*open)(struct subject *subject, struct err *err);
	/* The command of one execution, as far as its own arguments; NULL: the locale as it is.
	 */
	void (*begin)(struct subject *subject, const char *locale, struct trial *trial,
		struct command *command);
	/* Connect to a serving half. -1 when that takes no TCP. */
	int (*connect)(struct subject *subject, const char *address, struct caller *caller);
	/* End what executions left behind, however hidden; NULL: they leave nothing. */
	void (*end_rest)(void);
	/* Harmless on what was never opened. */
	void (*close)(struct subject *subject);
};

struct subject {
	const struct subject_kind *kind;
	const char *name; /* as it was given */
	int64_t extra_ns; /* what an execution may take longer than the contract says */
	const char *peer; /* address of the silent peer */
	bool ipv6;        /* ::1 is there */

	/* Of a program. */
	char *path;
	struct silent silent;

	/* Of an image. */
	struct image image;
	struct docker *docker;
	struct trial holder; /* the container that has the network namespace */
	char holder_peer[64];
	unsigned executions;
};

extern const struct subject_kind subject_program, subject_image;

/* A file of that name is a program; else an image of that name is one. -1 when it is neither,
 * or the file cannot be executed. */
int subject_find(struct subject *subject, const char *name, struct err *err);

/* End the connection with a reset; harmless on a caller that never connected. */
void caller_break_off(struct caller *caller, int64_t limit_ns);

#endif
