/* A runtime: what isolates the two halves of a pair, and starts processes where they belong. */
#ifndef RUN_RUNTIME_H
#define RUN_RUNTIME_H

#include <stdbool.h>

#include "base/err.h"
#include "run/backends.h"
#include "run/child.h"
#include "run/command.h"
#include "run/matrix.h"

/* What a process of a turn is for. */
enum role {
	ROLE_AGENT, /* rttlink agent, at the far end; only some runtimes need it */
	ROLE_LINK,  /* rttlink up */
	ROLE_CHECK, /* rttlink check */
	ROLE_SERVER,
	ROLE_CLIENT,
};

struct docker;

/* The one that was chosen for a run. */
struct runtime {
	const struct runtime_kind *kind;
	const char *bin;  /* folder of rttlink and the probes */
	const char *link; /* backend of linked cells: "netem", "tun"; "none" without any */
	struct docker *docker;
};

/* Where the halves of one pair live. */
struct place {
	const struct runtime *runtime;
	bool linked;
	int near, far; /* netns: descriptors of namespaces, the client's and the server's, the
			  same for a loopback cell; -1: where we are */
	char *name;    /* docker: what the names of its containers begin with */
	char *agent;   /* docker: the socket of its agent, as the sidecars see it */
};

struct runtime_kind {
	const char *name;
	bool links;      /* can it put a link between the halves? */
	bool agents;     /* … and does that take an agent? */
	int64_t turn_ns; /* what a turn costs there beside what it measures, for estimates */
	/* Fresh places for one turn; -1: nothing was made. */
	int (*open)(const struct runtime *runtime, bool linked, struct place *place,
		struct err *err);
	/* Begin the command line of a process of the turn: all up to the program. `cell` may be
	 * NULL for the roles of rttlink. */
	void (*begin)(const struct place *place, enum role role, const struct cell *cell,
		struct command *command, struct child_spec *spec);
	/* Why this cell cannot be run here; -1 with the reason. */
	int (*takes)(const struct runtime *runtime, const struct cell *cell, struct err *err);
	/* Does what it relies on still answer? -1 with the reason. NULL: nothing can go. */
	int (*answers)(struct err *err);
	/* `clean`: every process of the turn has ended by itself. */
	void (*close)(struct place *place, bool clean);
	/* Find out which link backends work there: all, or for a name other than "auto" that
	 * one. */
	int (*ask)(const struct runtime *runtime, const char *name, struct backends *backends,
		struct err *err);
};

extern const struct runtime_kind runtime_netns, runtime_host, runtime_docker;

/* Append to the command line of a ROLE_LINK or ROLE_CHECK where the two ends are. */
void place_add_ends(const struct place *place, struct command *command);

/* Choose by name or, for "auto", the first that this machine can do for `matrix`; prepared.
 * `why` gets one line that says which and why. -1 with the reason when there is none;
 * runtime_free() after success. May enter a user namespace. */
int runtime_choose(const char *name, const struct matrix *matrix, const char *bin,
	struct runtime *runtime, struct err *why, struct err *err);

void runtime_free(struct runtime *runtime);

#endif
