/* Does it refuse what it cannot take: unknown words, missing options, values out of range? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "run/contract.h"
#include "run/contract_state.h"

#define ANY_PORT "127.0.0.1:0"
#define PEER "PEER" /* in a row: the address of the silent peer */
#define UNKNOWN "no_such_option=1"

/* A deadline is given so that what wrongly starts ends as well. */
#define DEADLINE "--deadline", "2s"

struct usage_case {
	const char *name;
	const char *words[10]; /* up to a NULL */
	const char *culprit;   /* text that the message has to name; NULL: any message */
};

static const struct usage_case cases[] = {
	{"unknown command", {"no_such_command"}, "no_such_command"},
	{"unknown option of serve", {"serve", "--listen", ANY_PORT, DEADLINE, UNKNOWN},
		"no_such_option"},
	{"unknown option of run", {"run", "--peer", PEER, "--samples", "3", DEADLINE, UNKNOWN},
		"no_such_option"},
	{"serve without --listen", {"serve", DEADLINE}, NULL},
	{"run without --peer", {"run", "--samples", "3", DEADLINE}, NULL},
	{"run without --samples", {"run", "--peer", PEER, DEADLINE}, NULL},
	{"unknown option of check", {"check", "--samples", "3", UNKNOWN}, "no_such_option"},
};

/* Is it about a command that this probe need not have, and has not? */
static bool
is_beside(const struct contract *contract, const struct usage_case *usage)
{
	return !strcmp(usage->words[0], "check") && !contract->desc.checks;
}

static int
judge_refusal(const struct trial *trial, const char *culprit, struct err *err)
{
	struct err came;

	trial_tell(trial, &came);
	if (!trial_ended(trial, CONTRACT_USAGE))
		return err_set(err, "expected exit 2, %s", came.text);
	if (!trial->err.len)
		return err_set(err, "expected the reason on stderr, nothing came");
	if (culprit && !strstr(buf_text(&trial->err), culprit))
		return err_set(err, "expected '%s' to be named, %s", culprit, came.text);
	return 0;
}

/* Is this call refused as a usage error? */
static int
refuses(struct contract *contract, const struct command *words, const char *culprit,
	struct err *err)
{
	struct trial trial = TRIAL_INIT;
	int status = contract_ask(contract, &trial, words, CONTRACT_ANSWER_NS, err);

	if (status == 0)
		status = judge_refusal(&trial, culprit, err);
	contract_end(contract, &trial);
	return status;
}

void
contract_check_usage(struct contract *contract)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct command command = {0};
		struct err err;

		if (is_beside(contract, &cases[i]))
			continue;
		for (const char *const *word = cases[i].words; *word; word++)
			command_add(&command, "%s",
				strcmp(*word, PEER) ? *word : contract->subject.peer);
		contract_report(contract, cases[i].name,
			refuses(contract, &command, cases[i].culprit, &err), &err);
		command_free(&command);
		if (child_stop_asked())
			return;
	}
}

static char *
number_value(const struct opt *option, int64_t number)
{
	char text[UNITS_TEXT_SIZE];

	if (option->type == OPT_COUNT)
		return alloc_printf("%s=%" PRId64, option->name, number);
	units_format(option->type == OPT_SIZE ? UNIT_SIZE : UNIT_DURATION, number, text);
	return alloc_printf("%s=%s", option->name, text);
}

char *
contract_bad_value(const struct opt *option, int which)
{
	bool number = option->type == OPT_COUNT || option->type == OPT_SIZE ||
		      option->type == OPT_DURATION;
	bool low = number && option->min > 0;
	bool high = number && option->max > 0 && option->max < INT64_MAX;

	if (option->type == OPT_TEXT)
		return NULL; /* takes anything */
	if (which == 0)
		return alloc_printf("%s=no_such_value", option->name);
	if (which == 1 && low)
		return number_value(option, option->min - 1);
	if (which == 1 + low && high)
		return number_value(option, option->max + 1);
	return NULL;
}

/* A half may ignore an option of the other: one of them has to refuse it. */
static int
value_refused(struct contract *contract, const char *pair, struct err *err)
{
	struct command run = {0}, serve = {0};
	int status;

	command_add_words(&run, WORDS("run", "--peer", contract->subject.peer, "--samples", "3",
					DEADLINE, pair));
	command_add_words(&serve, WORDS("serve", "--listen", ANY_PORT, DEADLINE, pair));
	status = refuses(contract, &run, NULL, err);
	if (status < 0)
		status = refuses(contract, &serve, NULL, err);
	if (status < 0)
		err_prefix(err, "%s", pair);
	command_free(&run);
	command_free(&serve);
	return status;
}

void
contract_check_values(struct contract *contract)
{
	static const char name[] = "values out of range";
	size_t tried = 0;
	struct err err;

	if (!contract->described) {
		contract_skip(contract, name, "describe names no options");
		return;
	}
	for (size_t i = 0; i < contract->desc.option_count; i++) {
		const struct opt *option = &contract->desc.options[i];
		char *pair;

		for (int which = 0; (pair = contract_bad_value(option, which)); which++) {
			int status = value_refused(contract, pair, &err);

			free(pair);
			tried++;
			if (status < 0) {
				contract_not_ok(contract, name, "%s", err.text);
				return;
			}
		}
	}
	if (tried)
		contract_ok(contract, name);
	else
		contract_skip(contract, name, "no option has a range");
}
