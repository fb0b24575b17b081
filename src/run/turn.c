/* Runs one turn.
 *
 *   place (namespaces) -> link up -> echo -> server ready -> client runs, and the link's
 *   timed changes with it -> server stops -> echo -> link down -> judge; then the records go
 *   to disk, outcome.txt last
 *
 * Whatever goes wrong ends in an outcome with a reason; only results that cannot be written are
 * an error of the run. Every wait has a deadline, and ends when a process it depends on dies.
 */
#include "run/turn.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "run/turn_state.h"

#define SETUP_NS (10 * NS_PER_S)        /* for a link or a server to come up */
#define STOP_NS (2 * NS_PER_S)          /* to end after SIGTERM; the contract allows a second */
#define LINK_LONGER_NS (120 * NS_PER_S) /* than a cell may take: it ends by itself then */
#define GRACE_NS (2 * NS_PER_S)         /* a probe ends itself at its deadline; then we do */

static int
open_place(struct turn_state *turn)
{
	const struct runtime *runtime = turn->plan->runtime;
	struct err err;

	if (turn_linked(turn) && turn->plan->cell->loopback)
		return turn_fail(turn, STATUS_SKIPPED, "%s", turn->plan->cell->loopback);
	if (turn_linked(turn) && !runtime->kind->links)
		return turn_fail(turn, STATUS_SKIPPED, "the runtime %s has no links",
			runtime->kind->name);
	if (runtime->kind->takes(runtime, turn->plan->cell, &err) < 0)
		return turn_fail(turn, STATUS_SKIPPED, "%s", err.text);
	if (runtime->kind->open(runtime, turn_linked(turn), &turn->place, &err) < 0)
		return turn_fail(turn, STATUS_FAILED, "%s", err.text);
	return 0;
}

/* Side by side: the link waits for its agent. */
static int
bring_link_up(struct turn_state *turn)
{
	const struct turn_plan *plan = turn->plan;
	int64_t life_ns = plan->cell->deadline_ns + LINK_LONGER_NS;
	struct command command = {0};

	if (!turn_linked(turn))
		return 0;
	if (plan->runtime->kind->agents) {
		command_link_agent(&command, &turn->place, life_ns);
		if (turn_start(turn, &turn->agent, ROLE_AGENT, &command) < 0)
			return -1;
	}
	command_link_up(&command, &turn->place, plan->cell->profile, plan->link_seed, life_ns);
	if (turn_start(turn, &turn->link, ROLE_LINK, &command) < 0)
		return -1;
	return turn_await(turn, &turn->link, true, SETUP_NS, 0);
}

/* The independent echo; its samples are kept and judged at once. */
static int
check_link(struct turn_state *turn, enum echo_time time)
{
	const struct profile *profile = turn->plan->cell->profile;
	int64_t limit_ns = SETUP_NS + 4 * profile_rtt_ns(profile), start_ns = clock_now();
	struct command command = {0};
	struct child check;
	struct err err;
	int status;

	if (!turn_linked(turn))
		return 0;
	command_link_check(&command, &turn->place, turn->plan->cell, limit_ns);
	if (turn_start(turn, &check, ROLE_CHECK, &command) < 0)
		return -1;
	status = turn_await(turn, &check, false, limit_ns, GRACE_NS);
	buf_add(&turn->echo[time], buf_text(&check.out), check.out.len);
	child_free(&check);
	turn->check_ns += clock_now() - start_ns;
	if (status < 0 || verdict_echo(&turn->echo[time], profile, &err) == 0)
		return status;
	turn->off_target = true;
	return turn_fail(turn, STATUS_INVALID_LINK, "%s the cell: %s",
		time == ECHO_BEFORE ? "before" : "after", err.text);
}

static int
check_before(struct turn_state *turn)
{
	return check_link(turn, ECHO_BEFORE);
}

static int
start_server(struct turn_state *turn)
{
	struct command command = {0};

	command_serve(&command, turn->plan->cell);
	if (turn_start(turn, &turn->server, ROLE_SERVER, &command) < 0)
		return -1;
	return turn_await(turn, &turn->server, true, SETUP_NS, 0);
}

static int
run_client(struct turn_state *turn)
{
	const struct cell *cell = turn->plan->cell;
	struct command command = {0};
	int status;

	turn->client_start_ns = clock_now();
	command_run(&command, cell, child_ready_text(&turn->server));
	if (turn_start(turn, &turn->client, ROLE_CLIENT, &command) < 0)
		return -1;
	status = turn_await(turn, &turn->client, false, cell->deadline_ns, GRACE_NS);
	turn->client_ns = clock_now() - turn->client_start_ns;
	return status;
}

/* The changes of a profile that has some: `go` starts their clock, `rest` undoes them all. */
static int
tell_link(struct turn_state *turn, const char *words)
{
	struct err err;

	if (!turn_linked(turn) || turn->plan->cell->profile->change_count == 0 ||
		child_tell(&turn->link, words, &err) == 0)
		return 0;
	return turn_fail(turn, STATUS_INVALID_LINK, "%s", err.text);
}

static int
start_changes(struct turn_state *turn)
{
	return tell_link(turn, "go\n");
}

static int
undo_changes(struct turn_state *turn)
{
	return tell_link(turn, "rest\n");
}

static int
stop_server(struct turn_state *turn)
{
	if (!child_stop(&turn->server, STOP_NS))
		return turn_fail(turn, STATUS_FAILED, "the server did not end after SIGTERM");
	return turn->server.status == 0 ? 0 : turn_fail_exit(turn, &turn->server);
}

static int
check_after(struct turn_state *turn)
{
	/* The server has ended as it should: nobody is to take that for a fault. */
	struct child server = turn->server;
	int status;

	turn->server = (struct child)CHILD_INIT;
	status = check_link(turn, ECHO_AFTER);
	turn->server = server;
	return status;
}

static int
take_link_down(struct turn_state *turn)
{
	struct err err;

	if (!turn_linked(turn))
		return 0;
	if (!child_stop(&turn->link, STOP_NS))
		return turn_fail(
			turn, STATUS_INVALID_LINK, "the link did not end after SIGTERM");
	if (turn->link.status)
		return turn_fail_exit(turn, &turn->link);
	if (!child_stop(&turn->agent, STOP_NS))
		return turn_fail(
			turn, STATUS_INVALID_LINK, "the agent did not end after SIGTERM");
	if (verdict_drops(&turn->link.out, turn->plan->cell->profile, &err) < 0)
		return turn_fail(turn, STATUS_INVALID_LINK, "%s", err.text);
	if (verdict_stalls(&turn->link.out, turn->plan->cell->profile, &err) < 0 ||
		verdict_lateness(&turn->link.out, turn->plan->cell->profile, &err) < 0) {
		turn->off_target = true;
		return turn_fail(turn, STATUS_INVALID_LINK, "%s", err.text);
	}
	return 0;
}

static int
judge(struct turn_state *turn)
{
	struct err err;

	if (verdict_records(&turn->client.out, &turn->server.out, &err) < 0)
		return turn_fail(turn, STATUS_FAILED, "%s", err.text);
	return 0;
}

static void
release(struct turn_state *turn)
{
	bool clean = turn->status == STATUS_OK && !turn->stopped;

	child_free(&turn->client);
	child_free(&turn->server);
	child_free(&turn->link);
	child_free(&turn->agent);
	child_end_strays();
	turn->plan->runtime->kind->close(&turn->place, clean);
	for (int i = 0; i < ECHO_TIMES; i++)
		buf_free(&turn->echo[i]);
	free(turn->folder);
}

int
turn_run(const struct turn_plan *plan, struct err *err)
{
	static int (*const steps[])(struct turn_state *) = {
		open_place,
		bring_link_up,
		check_before,
		start_server,
		start_changes,
		run_client,
		undo_changes,
		stop_server,
		check_after,
		take_link_down,
		judge,
	};
	struct turn_state turn = {
		.plan = plan,
		.folder = turn_folder(plan->dir, plan->cell, plan->repeat),
		.place = {.near = -1, .far = -1},
		.agent = CHILD_INIT,
		.link = CHILD_INIT,
		.server = CHILD_INIT,
		.client = CHILD_INIT,
		.start_ns = clock_now(),
	};
	int status = file_mkdirs(turn.folder, err);

	turn_forget_logs(&turn);
	child_adopt_strays();
	for (size_t i = 0; status == 0 && i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i](&turn) < 0)
			break;
	if (status == 0 && turn.stopped)
		status = 1;
	if (status == 0 && turn.status != STATUS_OK && plan->runtime->kind->answers)
		status = plan->runtime->kind->answers(
			err); /* else nothing is known of the cell */
	if (status == 0) {
		/* On a failure these still run, and their last words are worth keeping. */
		child_stop(&turn.client, 0);
		child_stop(&turn.server, STOP_NS);
		child_stop(&turn.link, STOP_NS);
		status = turn_write_records(&turn, err);
	}
	release(&turn);
	return status;
}
