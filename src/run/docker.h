/* The runtime docker: pairs in containers. */
#ifndef RUN_DOCKER_H
#define RUN_DOCKER_H

#include "base/err.h"
#include "run/images.h"

/* What a run needs to start containers. */
struct docker {
	char *version; /* of the engine */
	char *mark;    /* label of all we make, see mark.h */
	char *name;    /* what the names of all we make begin with; the volume's name */
	struct images images;
	int sweeper_fd; /* -1: none; see docker_guard() */
	long sweeper;   /* its pid */
};

/* Is there an engine with our images? -1 with what is missing. */
int docker_open(struct docker **docker, struct err *err);

/* Before the first container of a run: remove what dead runs left, and have all of ours removed
 * when this process dies, however. -1 with the reason. */
int docker_guard(struct docker *docker, struct err *err);

struct command;

/* Begin a `docker run` of a probe's container: nothing but what the contract promises it.
 * `name` and `mark` (NULL: this process's) are the container's; a NULL name is the engine's
 * choice. */
void docker_add_run(struct command *command, const char *name, const char *mark);

/* Give it a network namespace of its own, with lo and nothing else. */
void docker_add_own_network(struct command *command);

/* Remove all of ours that is left. NULL is fine. */
void docker_close(struct docker *docker);

#endif
