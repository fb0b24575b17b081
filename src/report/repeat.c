/* Reads one repeat's folder. */
#include "report/repeat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/half.h"
#include "report/records.h"

static void
keep(char **text, const char *value)
{
	free(*text);
	*text = alloc_text(value);
}

static int
take_outcome(const struct record *record, void *context, struct err *err)
{
	struct report_repeat *repeat = context;

	if (record->kind != RECORD_INFO)
		return 0;
	if (!strcmp(record->name, "reason"))
		keep(&repeat->reason, record->text);
	else if (!strcmp(record->name, "runtime"))
		keep(&repeat->runtime, record->text);
	else if (!strcmp(record->name, "link"))
		keep(&repeat->link, record->text);
	if (strcmp(record->name, "status"))
		return 0;
	repeat->has_status = true;
	if (status_find(record->text, &repeat->status) < 0)
		return err_set(err, "'%.60s' is no status", record->text);
	return 0;
}

static int
take_link(const struct record *record, void *context, struct err *err)
{
	static const char *const names[2][2] = {
		{"up_packets", "up_lost"}, {"down_packets", "down_lost"}};
	struct report_repeat *repeat = context;

	(void)err;
	for (int way = 0; record->kind == RECORD_COUNT && way < 2; way++) {
		if (!strcmp(record->name, names[way][0])) {
			repeat->packets[way] = record->value;
			repeat->has_packets[way] = true;
		} else if (!strcmp(record->name, names[way][1])) {
			repeat->lost[way] = record->value;
		}
	}
	return 0;
}

static int
take_echo(const struct record *record, void *context, struct err *err)
{
	struct report_repeat *repeat = context;

	if (record->kind != RECORD_SAMPLE || strcmp(record->name, "echo"))
		return 0;
	if (record->unit != RECORD_NS)
		return err_set(err, "echo is in %s", record_unit_name(record->unit));
	stat_pool_add(&repeat->echo, record->value);
	return 0;
}

void
report_repeat_fail(struct report_repeat *repeat, enum cell_status status, const char *fmt, ...)
{
	char text[ERR_TEXT_SIZE + 64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	repeat->status = status;
	keep(&repeat->reason, text);
}

struct part {
	const char *name;
	int (*take)(const struct record *record, void *context, struct err *err);
	enum cell_status damaged; /* what the repeat is when this file is damaged or missing */
};

/* Read `part`. -1 when it cannot be read; what it holds may change the repeat's status. */
static int
read_part(const char *folder, const struct part *part, struct report_repeat *repeat,
	struct err *err)
{
	enum records_result result;

	if (repeat->status != STATUS_OK)
		return 0;
	result = report_records_read(folder, part->name, part->take, repeat, err);
	if (result == RECORDS_UNREADABLE)
		return -1;
	if (result != RECORDS_READ)
		report_repeat_fail(repeat, part->damaged, "%s", err->text);
	return 0;
}

static int
read_halves(const char *folder, struct report_repeat *repeat, struct err *err)
{
	static const struct part client = {"client.txt", report_half_take, STATUS_FAILED};
	static const struct part server = {"server.txt", report_half_take, STATUS_FAILED};

	repeat->half = "client";
	if (read_part(folder, &client, repeat, err) < 0)
		return -1;
	repeat->half = "server";
	repeat->client_metrics = repeat->metrics.count;
	if (read_part(folder, &server, repeat, err) < 0)
		return -1;
	if (repeat->status == STATUS_OK && repeat->metrics.count == 0)
		report_repeat_fail(repeat, STATUS_FAILED, "neither half printed a metric");
	return 0;
}

static int
read_link(const char *folder, struct report_repeat *repeat, struct err *err)
{
	static const struct part checks[] = {
		{"link.txt", take_link, STATUS_INVALID_LINK},
		{"link-before.txt", take_echo, STATUS_INVALID_LINK},
		{"link-after.txt", take_echo, STATUS_INVALID_LINK},
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		size_t echoes = repeat->echo.count;

		if (read_part(folder, &checks[i], repeat, err) < 0)
			return -1;
		if (checks[i].take == take_echo && repeat->echo.count == echoes &&
			repeat->status == STATUS_OK)
			report_repeat_fail(repeat, STATUS_INVALID_LINK,
				"%s holds no echo: the link was not measured", checks[i].name);
	}
	return 0;
}

/* A shaped cell never runs unshaped, and a loopback cell never shaped. */
static void
check_link(struct report_repeat *repeat, bool loopback)
{
	bool none = repeat->link && !strcmp(repeat->link, "none");

	if (repeat->status == STATUS_OK && (!repeat->link || none != loopback))
		report_repeat_fail(repeat, STATUS_INVALID_LINK,
			"ran over link '%s' on a %s profile", repeat->link ? repeat->link : "",
			loopback ? "loopback" : "linked");
}

int
report_repeat_read(
	const char *folder, bool loopback, struct report_repeat *repeat, struct err *err)
{
	struct err own = {0}; /* what is wrong with a repeat is no error of ours */

	switch (report_records_read(folder, "outcome.txt", take_outcome, repeat, &own)) {
	case RECORDS_MISSING:
		return 0;
	case RECORDS_UNREADABLE:
		return err_set(err, "%s", own.text);
	case RECORDS_DAMAGED:
		report_repeat_fail(repeat, STATUS_FAILED, "%s", own.text);
		return 1;
	case RECORDS_READ:
		break;
	}
	if (!repeat->has_status)
		report_repeat_fail(repeat, STATUS_FAILED, "outcome.txt holds no status");
	else if (repeat->status != STATUS_OK && !repeat->reason)
		report_repeat_fail(repeat, repeat->status, "no reason was given");
	check_link(repeat, loopback);
	if (read_halves(folder, repeat, err) < 0)
		return -1;
	return !loopback && read_link(folder, repeat, err) < 0 ? -1 : 1;
}

void
report_repeat_free(struct report_repeat *repeat)
{
	report_metrics_free(&repeat->metrics);
	stat_pool_free(&repeat->echo);
	free(repeat->reason);
	free(repeat->runtime);
	free(repeat->link);
	free(repeat->congestion);
	*repeat = (struct report_repeat){0};
}
