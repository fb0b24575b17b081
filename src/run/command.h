/* The command lines of the processes of a pair. Pure: nothing is started here. */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "run/matrix.h"

struct place;

/* A NULL-terminated argv that owns its words. Zero-initialise; release with command_free(). */
struct command {
	char **argv;
	size_t count;
	size_t cap;
};

/* Append a word, printf-like. */
void command_add(struct command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Append these, which end with NULL. */
void command_add_words(struct command *command, const char *const words[]);
/* Append all words of another, which is emptied. */
void command_append(struct command *command, struct command *words);
void command_free(struct command *command);

/* What follows the program (see struct runtime_kind's begin):
 *
 * serve --listen ADDR --deadline D k=v… ; the port is left to the kernel. */
void command_serve(struct command *command, const struct cell *cell);

/* run --peer ADDR --samples N --deadline D k=v… */
void command_run(struct command *command, const struct cell *cell, const char *peer);

/* Of rttlink: up and check between the ends of the place, and the agent at the far one. Those
 * that hold a link end by themselves after `life_ns`, whatever happens to us. */
void command_link_up(struct command *command, const struct place *place,
	const struct profile *profile, int64_t seed, int64_t life_ns);
void command_link_check(struct command *command, const struct place *place,
	const struct cell *cell, int64_t deadline_ns);
void command_link_agent(struct command *command, const struct place *place, int64_t life_ns);

#endif
