/* The command lines of the processes of a pair. Pure: nothing is started here. */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "run/matrix.h"

/* A NULL-terminated argv that owns its words. Zero-initialise; release with command_free(). */
struct command {
	char **argv;
	size_t count;
	size_t cap;
};

void command_add(struct command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void command_free(struct command *command);

/* PROBE serve --listen ADDR --deadline D k=v… ; the port is left to the kernel. */
void command_serve(struct command *command, const struct cell *cell, const char *bin);

/* PROBE run --peer ADDR --samples N --deadline D k=v… */
void command_run(
	struct command *command, const struct cell *cell, const char *bin, const char *peer);

/* rttlink up and check between the namespaces at descriptors 3 (near) and 4 (far). */
void command_link_up(struct command *command, const struct cell *cell, const char *bin,
	const char *backend, int64_t seed);
void command_link_check(
	struct command *command, const struct cell *cell, const char *bin, int64_t deadline_ns);

#endif
