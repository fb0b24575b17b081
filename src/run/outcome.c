/* The folder of a turn: its records, and outcome.txt, written last and read back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "run/turn_state.h"
#include "stat/record.h"

#define OUTCOME_MAX 65536

char *
turn_folder(const char *dir, const struct cell *cell, int64_t repeat)
{
	return alloc_printf("%s/cells/%s/%" PRId64, dir, cell->id, repeat);
}

static int
write_one(const struct turn_state *turn, const char *name, const struct buf *text,
	struct err *err)
{
	char *path = alloc_printf("%s/%s", turn->folder, name);
	int status = file_write(path, buf_text(text), text->len, err);

	free(path);
	return status;
}

static void
outcome_text(const struct turn_state *turn, struct buf *out)
{
	const struct turn_plan *plan = turn->plan;

	buf_printf(out, "info status %s\n", status_name(turn->status));
	if (turn->status != STATUS_OK)
		buf_printf(out, "info reason %s\n", turn->reason.text);
	if (turn->off_target)
		buf_puts(out, "info off_target yes\n");
	buf_printf(out, "info runtime %s\n", plan->runtime->kind->name);
	buf_printf(out, "info link %s\n", turn_linked(turn) ? plan->runtime->link : "none");
	buf_printf(out, "info shared %s\n", plan->shared ? "yes" : "no");
	buf_printf(out, "info awake %s\n", plan->awake);
	buf_printf(out, "count duration_ns %" PRId64 "\n", clock_now() - turn->start_ns);
	buf_printf(out, "count client_ns %" PRId64 "\n", turn->client_ns);
	buf_printf(out, "count check_ns %" PRId64 "\n", turn->check_ns);
}

int
turn_write_records(const struct turn_state *turn, struct err *err)
{
	struct buf outcome = {0};
	int status = -1;

	if (write_one(turn, "client.txt", &turn->client.out, err) < 0 ||
		write_one(turn, "server.txt", &turn->server.out, err) < 0)
		goto out;
	if (turn_linked(turn) &&
		(write_one(turn, "link.txt", &turn->link.out, err) < 0 ||
			write_one(turn, "link-before.txt", &turn->echo[ECHO_BEFORE], err) < 0 ||
			write_one(turn, "link-after.txt", &turn->echo[ECHO_AFTER], err) < 0))
		goto out;
	outcome_text(turn, &outcome);
	status = write_one(turn, "outcome.txt", &outcome, err);
out:
	buf_free(&outcome);
	return status;
}

static int
take(const struct record *record, void *context, struct err *err)
{
	struct turn_outcome *outcome = context;

	(void)err;
	if (record->kind != RECORD_INFO)
		return 0;
	if (!strcmp(record->name, "reason"))
		snprintf(outcome->reason, sizeof(outcome->reason), "%s", record->text);
	else if (!strcmp(record->name, "off_target"))
		outcome->off_target = true;
	else if (!strcmp(record->name, "status"))
		status_find(record->text, &outcome->status);
	return 0;
}

bool
turn_read_outcome(const char *folder, struct turn_outcome *outcome)
{
	char *path = alloc_printf("%s/outcome.txt", folder);
	struct buf text = {0};
	bool found = file_read(path, OUTCOME_MAX, &text, NULL) == 0;

	*outcome = (struct turn_outcome){.status = STATUS_FAILED};
	if (found)
		record_each(buf_text(&text), text.len, take, outcome, NULL);
	buf_free(&text);
	free(path);
	return found;
}

int
turn_write_lost(const struct turn_plan *plan, const char *reason, struct err *err)
{
	char *folder = turn_folder(plan->dir, plan->cell, plan->repeat);
	char *path = alloc_printf("%s/outcome.txt", folder);
	char *text = alloc_printf(
		"info status failed\ninfo reason %s\ninfo runtime %s\ninfo link %s\n", reason,
		plan->runtime->kind->name,
		plan->cell->profile->loopback ? "none" : plan->runtime->link);
	int status = file_mkdirs(folder, err);

	if (status == 0)
		status = file_write(path, text, strlen(text), err);
	free(text);
	free(path);
	free(folder);
	return status;
}
