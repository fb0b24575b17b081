/* The checks of docker/CONTRACT.md, from `describe` to the deadlines.
 *
 *   describe -> usage errors -> refused values -> a pair over IPv4, looked at closely
 *   -> the same over IPv6, with defaults given, in another locale -> deadlines
 *
 * A check that could not tell anything because an earlier one failed is skipped, so that one
 * fault gives one `not ok`. Every wait has a limit; what the program leaves behind is ended. */
#include "run/contract.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "run/contract_state.h"

void
contract_ok(struct contract *contract, const char *name)
{
	fprintf(contract->out, "ok %s\n", name);
	fflush(contract->out);
}

static void
say(struct contract *contract, const char *word, const char *name, const char *fmt,
	va_list args)
{
	fprintf(contract->out, "%s %s: ", word, name);
	vfprintf(contract->out, fmt, args);
	fputc('\n', contract->out);
	fflush(contract->out);
}

void
contract_not_ok(struct contract *contract, const char *name, const char *fmt, ...)
{
	va_list args;

	if (child_stop_asked())
		return; /* it says nothing of the program */
	va_start(args, fmt);
	say(contract, "not ok", name, fmt, args);
	va_end(args);
	contract->failures++;
}

void
contract_skip(struct contract *contract, const char *name, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(contract, "skip", name, fmt, args);
	va_end(args);
}

bool
contract_report(struct contract *contract, const char *name, int status, const struct err *err)
{
	if (status < 0)
		contract_not_ok(contract, name, "%s", err->text);
	else
		contract_ok(contract, name);
	return status >= 0;
}

int
contract_start(struct contract *contract, struct trial *trial, const char *what,
	const char *locale, const struct command *words, struct err *err)
{
	struct command command = {0};
	int status;

	contract->subject.kind->begin(&contract->subject, locale, trial, &command);
	for (size_t i = 0; i < words->count; i++)
		command_add(&command, "%s", words->argv[i]);
	status = trial_start(trial, what, &command, err);
	command_free(&command);
	return status;
}

int
contract_ask(struct contract *contract, struct trial *trial, const struct command *words,
	int64_t limit_ns, struct err *err)
{
	if (contract_start(contract, trial, words->argv[0], NULL, words, err) < 0)
		return -1;
	trial_await(trial, NULL, false, limit_ns + contract->subject.extra_ns);
	return 0;
}

void
contract_end(const struct contract *contract, struct trial *trial)
{
	trial_free(trial);
	if (contract->subject.kind->end_rest)
		contract->subject.kind->end_rest();
}

/* "handshake" for bin/probe-handshake. */
static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strncmp(name, "probe-", 6) ? name : name + 6;
}

/* What came when it was asked for its options and metrics. */
static void
judge_description(struct contract *contract, const struct trial *trial)
{
	struct err err;

	if (trial_ended(trial, CONTRACT_USAGE)) {
		fprintf(contract->out,
			"warning describe: there is none, so no matrix that names it can be "
			"checked before it starts\n");
	} else if (!trial_ended(trial, 0)) {
		trial_tell(trial, &err);
		contract_not_ok(
			contract, "describe", "expected exit 0 within 5 s, %s", err.text);
	} else if (catalogue_parse(base_name(contract->subject.name),
			   buf_text(&trial->child.out), &contract->desc, &err) < 0) {
		contract_not_ok(contract, "describe",
			"expected option and metric lines, came %s", err.text);
	} else {
		contract->described = true;
		contract_ok(contract, "describe");
	}
}

/* The first time it is started, which tells whether it can be at all: EXIT_ALL_WELL to go on.
 */
static enum exit_status
check_description(struct contract *contract, struct err *err)
{
	struct trial trial = TRIAL_INIT;
	struct command words = {0};
	enum exit_status status = EXIT_ALL_WELL;

	command_add(&words, "describe");
	if (contract_ask(contract, &trial, &words, CONTRACT_ANSWER_NS, err) < 0) {
		status = EXIT_BAD_INPUT;
	} else if (trial_unstarted(&trial) == TRIAL_ENGINE) {
		trial_tell(&trial, err);
		status = EXIT_MACHINE;
	} else {
		contract->starts = !trial_unstarted(&trial);
		judge_description(contract, &trial);
	}
	contract_end(contract, &trial);
	command_free(&words);
	return status;
}

static void
check_rest(struct contract *contract)
{
	static void (*const groups[])(struct contract *) = {
		contract_check_usage,
		contract_check_values,
		contract_check_pairs,
		contract_check_deadlines,
	};

	if (!contract->starts && !child_stop_asked()) {
		contract_skip(contract, "all others", "it does not start");
		return;
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]) && !child_stop_asked(); i++)
		groups[i](contract);
}

static enum exit_status
conclude(const struct contract *contract, struct err *err)
{
	if (!contract->failures)
		return EXIT_ALL_WELL;
	err_set(err, "%s does not keep docker/CONTRACT.md: %zu %s failed",
		contract->subject.name, contract->failures,
		contract->failures == 1 ? "check" : "checks");
	return EXIT_CELL_FAILED;
}

enum exit_status
contract_check(const char *name, FILE *out, struct err *err)
{
	struct contract contract = {.out = out};
	struct subject *subject = &contract.subject;
	enum exit_status status = EXIT_BAD_INPUT;

	if (subject_find(subject, name, err) < 0)
		return status;
	child_catch_stop();
	if (subject->kind->open(subject, err) < 0)
		status = EXIT_MACHINE;
	else
		status = check_description(&contract, err);
	if (status == EXIT_ALL_WELL) {
		check_rest(&contract);
		status = conclude(&contract, err);
	}
	if (child_stop_asked()) {
		status = EXIT_INTERRUPTED;
		err_set(err, "%s", "");
	}
	subject->kind->close(subject);
	probe_desc_free(&contract.desc);
	return status;
}
