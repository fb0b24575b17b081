/* Starts, awaits and judges the processes of a turn. */
#include "run/turn_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/units.h"
#include "run/engine.h"

int
turn_fail(struct turn_state *turn, enum cell_status status, const char *fmt, ...)
{
	va_list args;

	if (turn->status != STATUS_OK)
		return -1;
	turn->status = status;
	va_start(args, fmt);
	vsnprintf(turn->reason.text, sizeof(turn->reason.text), fmt, args);
	va_end(args);
	return -1;
}

bool
turn_linked(const struct turn_state *turn)
{
	return !turn->plan->cell->profile->loopback;
}

static const char *const role_names[] = {
	[ROLE_AGENT] = "agent",
	[ROLE_LINK] = "link",
	[ROLE_CHECK] = "check",
	[ROLE_SERVER] = "server",
	[ROLE_CLIENT] = "client",
};

static char *
log_of(const struct turn_state *turn, const char *what)
{
	return alloc_printf("%s/%s.log", turn->folder, what);
}

void
turn_forget_logs(const struct turn_state *turn)
{
	for (size_t i = 0; i < sizeof(role_names) / sizeof(role_names[0]); i++) {
		char *log = log_of(turn, role_names[i]);

		unlink(log);
		free(log);
	}
}

/* The last thing a process said on stderr; free() it. */
static char *
last_words(const struct turn_state *turn, const char *what)
{
	char *path = log_of(turn, what);
	struct buf text = {0};
	char *line;

	file_read(path, CHILD_OUTPUT_MAX, &text, NULL);
	line = engine_reason(&text); /* of a container's, without the engine's hints */
	buf_free(&text);
	free(path);
	return line;
}

int
turn_fail_exit(struct turn_state *turn, const struct child *child)
{
	char *words = last_words(turn, child->what);
	enum cell_status status = child->status == 77 ? STATUS_UNSUPPORTED : STATUS_FAILED;

	if (child == &turn->client && status == STATUS_FAILED &&
		clock_now() - turn->client_start_ns >= turn->plan->cell->deadline_ns)
		status = STATUS_TIMEOUT; /* it ended itself, at its deadline */
	if ((child == &turn->link || child == &turn->agent) && *child_ready_text(&turn->link))
		status = STATUS_INVALID_LINK; /* it was there, and broke under the cell */
	if (child->overflow)
		turn_fail(turn, STATUS_FAILED, "the %s printed more than %zu MiB", child->what,
			CHILD_OUTPUT_MAX >> 20);
	else if (child->status > 128)
		turn_fail(turn, status, "the %s was ended by signal %d (%s)%s%s", child->what,
			child->status - 128, strsignal(child->status - 128), *words ? ": " : "",
			words);
	else
		turn_fail(turn, status, "the %s ended with %d%s%s", child->what, child->status,
			*words ? ": " : "", words);
	free(words);
	return -1;
}

/* What child_wait() returned was not what we waited for. */
static int
fail_event(struct turn_state *turn, enum child_event event, const struct child *target,
	int64_t limit_ns)
{
	char text[UNITS_TEXT_SIZE];

	units_format(UNIT_DURATION, limit_ns, text);
	switch (event) {
	case CHILD_STOPPED:
		turn->stopped = true;
		return turn_fail(turn, STATUS_FAILED, "stopped");
	case CHILD_TIMEOUT:
		return turn_fail(turn, STATUS_TIMEOUT, "the %s was not done after %s",
			target->what, text);
	case CHILD_OTHER_EXITED:
		if (turn->agent.exited)
			return turn_fail_exit(turn, &turn->agent);
		if (turn->link.exited)
			return turn_fail_exit(turn, &turn->link);
		return turn_fail_exit(turn, &turn->server);
	default:
		return turn_fail_exit(turn, target);
	}
}

int
turn_await(struct turn_state *turn, struct child *target, bool ready, int64_t limit_ns,
	int64_t grace_ns)
{
	struct child *set[4];
	struct child *all[] = {&turn->agent, &turn->link, &turn->server, target};
	enum child_event event;
	size_t count = 0;

	for (size_t i = 0; i < 4; i++)
		if (all[i]->pid && (i == 3 || all[i] != target))
			set[count++] = all[i];
	event = child_wait(set, count, target, ready, clock_now() + limit_ns + grace_ns);
	if (event == CHILD_READY || (event == CHILD_EXITED && !ready && target->status == 0))
		return 0;
	return fail_event(turn, event, target, limit_ns);
}

int
turn_start(struct turn_state *turn, struct child *child, enum role role, struct command *words)
{
	char *log = log_of(turn, role_names[role]);
	struct child_spec spec = CHILD_SPEC;
	struct command command = {0};
	struct err err;
	int status = 0;

	turn->plan->runtime->kind->begin(&turn->place, role, turn->plan->cell, &command, &spec);
	if (role == ROLE_LINK && turn->plan->cell->profile->change_count)
		spec.hold_stdin = true;
	command_append(&command, words);
	spec.argv = (const char *const *)command.argv;
	spec.log = log;
	if (child_start(&spec, role_names[role], child, &err) < 0)
		status = turn_fail(turn, STATUS_FAILED, "%s", err.text);
	command_free(&command);
	free(log);
	return status;
}
