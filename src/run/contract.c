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
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/netns.h"
#include "run/contract_state.h"
#include "run/runtime.h"

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

void
contract_words(struct command *command, const char *const words[])
{
	for (; *words; words++)
		command_add(command, "%s", *words);
}

int
contract_ask(struct trial *trial, const char *what, const struct command *command,
	int64_t limit_ns, struct err *err)
{
	if (trial_start(trial, what, command, err) < 0)
		return -1;
	trial_await(trial, NULL, false, limit_ns);
	return 0;
}

void
contract_end(struct trial *trial)
{
	trial_free(trial);
	child_end_strays();
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
	} else if (catalogue_parse(base_name(contract->path), buf_text(&trial->child.out),
			   &contract->desc, &err) < 0) {
		contract_not_ok(contract, "describe",
			"expected option and metric lines, came %s", err.text);
	} else {
		contract->described = true;
		contract_ok(contract, "describe");
	}
}

/* The first time it is started: -1 when it cannot be. */
static int
check_description(struct contract *contract, struct err *err)
{
	struct trial trial = TRIAL_INIT;
	struct command command = {0};
	int status;

	contract_words(&command, WORDS(contract->path, "describe"));
	status = contract_ask(&trial, "describe", &command, CONTRACT_ANSWER_NS, err);
	if (status == 0)
		judge_description(contract, &trial);
	contract_end(&trial);
	command_free(&command);
	return status;
}

/* A namespace of our own, so that nobody else is there to talk to. Without, the checks still
 * hold: every port is the kernel's choice. */
static int
isolate(struct err *err)
{
	struct place place;
	struct err why;
	const struct runtime *runtime = runtime_choose("auto", &why, err);
	int status = 0;

	if (!runtime || runtime->open(false, &place, err) < 0)
		return -1;
	if (place.near >= 0)
		status = netns_enter(place.near, err);
	runtime->close(&place);
	return status;
}

static int
find_program(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
		return 0;
	return err_set(err, "'%s' is not an executable file", path);
}

static enum exit_status
conclude(const struct contract *contract, struct err *err)
{
	if (child_stop_asked())
		return EXIT_INTERRUPTED;
	if (!contract->failures)
		return EXIT_ALL_WELL;
	err_set(err, "%s does not keep docker/CONTRACT.md: %zu %s failed", contract->path,
		contract->failures, contract->failures == 1 ? "check" : "checks");
	return EXIT_CELL_FAILED;
}

enum exit_status
contract_check(const char *path, FILE *out, struct err *err)
{
	static void (*const groups[])(struct contract *) = {
		contract_check_usage,
		contract_check_values,
		contract_check_pairs,
		contract_check_deadlines,
	};
	/* execvp() would look a bare name up in PATH. */
	char *program = alloc_printf("%s%s", strchr(path, '/') ? "" : "./", path);
	struct contract contract = {.path = program, .out = out, .silent = {-1, -1, ""}};
	enum exit_status status = EXIT_BAD_INPUT;

	if (find_program(program, err) < 0)
		goto out;
	status = EXIT_MACHINE;
	if (isolate(err) < 0 || silent_open(&contract.silent, err) < 0)
		goto out;
	child_catch_stop();
	child_adopt_strays();
	status = EXIT_BAD_INPUT;
	if (check_description(&contract, err) < 0)
		goto out;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]) && !child_stop_asked(); i++)
		groups[i](&contract);
	status = conclude(&contract, err);
out:
	silent_close(&contract.silent);
	probe_desc_free(&contract.desc);
	free(program);
	return status;
}
