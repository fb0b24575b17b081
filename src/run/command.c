/* Builds the arguments of probes and of rttlink. */
#include "run/command.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "run/awake.h"
#include "run/runtime.h"

/* Enough echoes for a median that a few late ones do not move. Over a short link one follows
 * the other at once, as a probe's requests do: with gaps in between the cores would fall
 * asleep, and the echo would measure how they wake. Over a long one several are under way
 * together. */
#define ECHO_COUNT 25
#define ECHO_INTERVAL "2ms"
#define ECHO_CLOSED_NS 2000000

#define SERVER_LONGER_NS INT64_C(10000000000)

void
command_add(struct command *command, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	command->argv = alloc_grow(
		command->argv, command->count + 1, &command->cap, sizeof(*command->argv));
	command->argv[command->count] = alloc_zero((size_t)len + 1, 1);
	va_start(args, fmt);
	vsnprintf(command->argv[command->count++], (size_t)len + 1, fmt, args);
	va_end(args);
	command->argv[command->count] = NULL;
}

void
command_add_words(struct command *command, const char *const words[])
{
	for (; *words; words++)
		command_add(command, "%s", *words);
}

void
command_append(struct command *command, struct command *words)
{
	for (size_t i = 0; i < words->count; i++)
		command_add(command, "%s", words->argv[i]);
	command_free(words);
}

void
command_free(struct command *command)
{
	for (size_t i = 0; i < command->count; i++)
		free(command->argv[i]);
	free(command->argv);
	*command = (struct command){0};
}

static void
add_duration(struct command *command, const char *name, int64_t ns)
{
	char text[UNITS_TEXT_SIZE];

	units_format(UNIT_DURATION, ns, text);
	command_add(command, "%s", name);
	command_add(command, "%s", text);
}

static void
add_options(struct command *command, const struct cell *cell, int64_t deadline_ns)
{
	add_duration(command, "--deadline", deadline_ns);
	for (size_t i = 0; i < cell->options.count; i++)
		if (strcmp(cell->options.items[i].name, AWAKE_OPTION))
			command_add(command, "%s=%s", cell->options.items[i].name,
				cell->options.items[i].value);
}

/* The server's address: the far end of the link (see rttlink), or loopback as a literal. */
static const char *
listen_address(const struct cell *cell)
{
	if (cell->profile->loopback)
		return cell->family == 6 ? "[::1]:0" : "127.0.0.1:0";
	return cell->family == 6 ? "[fd52:7474:6d61::2]:0" : "198.18.0.2:0";
}

void
command_serve(struct command *command, const struct cell *cell)
{
	command_add(command, "serve");
	command_add(command, "--listen");
	command_add(command, "%s", listen_address(cell));
	/* It starts first and ends last: a hang is to be found by the client. */
	add_options(command, cell, cell->deadline_ns + SERVER_LONGER_NS);
}

void
command_run(struct command *command, const struct cell *cell, const char *peer)
{
	command_add(command, "run");
	command_add(command, "--peer");
	command_add(command, "%s", peer);
	command_add(command, "--samples");
	command_add(command, "%" PRId64, cell->samples);
	add_options(command, cell, cell->deadline_ns);
}

void
command_link_up(struct command *command, const struct place *place,
	const struct profile *profile, int64_t seed, int64_t life_ns)
{
	command_add(command, "up");
	if (place->agent) { /* a container does not see our files */
		command_add(command, "--yaml");
		command_add(command, "%s", profile->text);
	} else {
		command_add(command, "--profile");
		command_add(command, "%s", profile->file);
	}
	command_add(command, "--backend");
	command_add(command, "%s", place->runtime->link);
	command_add(command, "--seed");
	command_add(command, "%" PRId64, seed);
	add_duration(command, "--deadline", life_ns);
	if (profile->change_count) /* they are for the client, not for what goes before it */
		command_add(command, "--hold");
	place_add_ends(place, command);
}

void
command_link_check(struct command *command, const struct place *place, const struct cell *cell,
	int64_t deadline_ns)
{
	bool closed = profile_rtt_ns(cell->profile) <= ECHO_CLOSED_NS;

	command_add(command, "check");
	place_add_ends(place, command);
	command_add(command, "--family");
	command_add(command, "%d", cell->family);
	command_add(command, "--count");
	command_add(command, "%d", ECHO_COUNT);
	if (closed)
		command_add(command, "--closed");
	command_add(command, "--interval");
	command_add(command, "%s", closed ? "0ns" : ECHO_INTERVAL);
	add_duration(command, "--deadline", deadline_ns);
}

void
command_link_agent(struct command *command, const struct place *place, int64_t life_ns)
{
	command_add(command, "agent");
	command_add(command, "--listen");
	command_add(command, "%s", place->agent);
	add_duration(command, "--deadline", life_ns);
}
