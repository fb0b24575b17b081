/* Do both halves work together, print what they announced and end when they are to? */
#include <stdlib.h>
#include <string.h>

#include "run/contract_pair.h"
#include "run/contract_state.h"

#define DEADLINE "1s"
#define DEADLINE_NS (1 * NS_PER_S)
#define LAST_WORDS "deadline of " DEADLINE " passed"

/* `ok`, `not ok` or, for what cannot be here, `skip`. True when ok. */
static bool
report_end(
	struct contract *contract, const char *name, enum pair_end end, const struct err *err)
{
	if (end == PAIR_UNSUPPORTED)
		contract_skip(contract, name, "%s", err->text);
	else
		contract_report(contract, name, end == PAIR_OK ? 0 : -1, err);
	return end == PAIR_OK;
}

/* Connect to the serving half, if it takes connections. */
static void
call(struct contract *contract, const struct pair *pair, struct caller *caller)
{
	const char *address = child_ready_text(&pair->serve.child);

	contract->subject.kind->connect(&contract->subject, address, caller);
}

static void
hang_up(const struct contract *contract, struct caller *caller)
{
	caller_break_off(caller, CONTRACT_STOP_NS + contract->subject.extra_ns);
}

/* The server meets a client that breaks off (a reset, where it takes TCP), then a good one. */
static void
check_second_client(
	struct contract *contract, struct pair *pair, const struct pair_setting *setting)
{
	struct caller caller = CALLER_INIT;
	struct err err;
	enum pair_end end;

	call(contract, pair, &caller);
	hang_up(contract, &caller);
	end = pair_run(pair, contract, setting, &err);
	report_end(contract, "a second client, after one that broke off", end, &err);
}

/* What was printed, held against what was asked for and announced. */
static void
check_output(struct contract *contract, const struct pair *pair)
{
	static const char listed[] = "every metric is described";
	const struct probe_desc *desc = &contract->desc;
	struct err err, came;
	int status;

	if (tally_measured(&pair->ran, &came) < 0)
		contract_not_ok(contract, "measurements",
			"expected at least one from run, came %s", came.text);
	else
		contract_ok(contract, "measurements");
	if (tally_complete(&pair->ran, PAIR_SAMPLES, &came) < 0)
		contract_not_ok(contract, "samples",
			"expected --samples %d of a metric, came %s", PAIR_SAMPLES, came.text);
	else
		contract_ok(contract, "samples");
	status = tally_apart(&pair->ran, &pair->served, &err);
	contract_report(contract, "no metric in both halves", status, &err);
	if (!contract->described)
		contract_skip(contract, listed, "describe names no metrics");
	else if (tally_listed(&pair->ran, desc, &came) < 0)
		contract_not_ok(contract, listed, "run printed %s", came.text);
	else if (tally_listed(&pair->served, desc, &came) < 0)
		contract_not_ok(contract, listed, "serve printed %s", came.text);
	else
		contract_ok(contract, listed);
}

/* One pair, step by step. */
static void
check_closely(struct contract *contract)
{
	static const struct pair_setting setting = {.listen = "127.0.0.1:0"};
	struct pair pair = PAIR_INIT;
	struct err err;
	enum pair_end end = pair_serve(&pair, contract, &setting, &err);
	struct buf first = {0};
	struct caller caller = CALLER_INIT;
	int status;

	if (!report_end(contract, "serve is ready", end, &err))
		goto out;
	end = pair_run(&pair, contract, &setting, &err);
	if (!report_end(contract, "run", end, &err))
		goto out;
	buf_add(&first, buf_text(&pair.run.child.out), pair.run.child.out.len);
	check_second_client(contract, &pair, &setting);
	call(contract, &pair, &caller); /* it ends with connections open or not */
	status = pair_stop(&pair, contract, &err);
	contract_report(contract, "SIGTERM ends serve", status, &err);
	hang_up(contract, &caller);
	/* The first client is the one to look at: nothing had gone wrong before it. */
	buf_clear(&pair.run.child.out);
	buf_add(&pair.run.child.out, buf_text(&first), first.len);
	status = pair_read(&pair, &err);
	contract->works = contract_report(contract, "records", status, &err);
	if (contract->works)
		check_output(contract, &pair);
out:
	buf_free(&first);
	pair_free(&pair, contract);
}

/* The same again under another setting, as one check. */
static void
check_briefly(struct contract *contract, const char *name, const struct pair_setting *setting)
{
	struct pair pair = PAIR_INIT;
	struct err err;
	enum pair_end end = pair_serve(&pair, contract, setting, &err);

	if (end == PAIR_OK)
		end = pair_run(&pair, contract, setting, &err);
	trial_stop(&pair.serve, CONTRACT_STOP_NS + contract->subject.extra_ns);
	if (end == PAIR_OK && pair_read(&pair, &err) < 0)
		end = PAIR_BAD;
	report_end(contract, name, end, &err);
	pair_free(&pair, contract);
}

void
contract_check_pairs(struct contract *contract)
{
	static const struct {
		const char *name;
		struct pair_setting setting;
		bool six;
	} again[] = {
		{"IPv6", {.listen = "[::1]:0"}, true},
		{"defaults given", {.listen = "127.0.0.1:0", .defaults = true}, false},
		{"locale de_DE.UTF-8", {.listen = "127.0.0.1:0", .locale = "de_DE.UTF-8"},
			false},
	};

	check_closely(contract);
	for (size_t i = 0; i < sizeof(again) / sizeof(again[0]) && !child_stop_asked(); i++) {
		if (!contract->works)
			contract_skip(contract, again[i].name, "no pair over IPv4 yet");
		else if (again[i].six && !contract->subject.ipv6)
			contract_skip(contract, again[i].name, "this machine has none");
		else if (again[i].setting.defaults && !contract->described)
			contract_skip(contract, again[i].name, "describe names no options");
		else
			check_briefly(contract, again[i].name, &again[i].setting);
	}
}

/* Exit 1 with a reason, which is the deadline unless it gave up before. */
static int
judge_deadline(const struct contract *contract, const struct trial *trial, struct err *err)
{
	char *reason = trial_reason(trial);
	struct err came;
	int status = 0;

	trial_tell(trial, &came);
	if (!trial_ended(trial, 1))
		status = err_set(
			err, "expected exit 1 after --deadline " DEADLINE ", %s", came.text);
	else if (!*reason)
		status = err_set(err, "expected a reason on stderr, nothing came");
	else if (trial->took_ns >= DEADLINE_NS + contract->subject.extra_ns &&
		 !strstr(reason, LAST_WORDS))
		status = err_set(err, "expected '" LAST_WORDS "', %s", came.text);
	free(reason);
	return status;
}

/* `words` runs into its deadline. */
static void
check_deadline(struct contract *contract, const char *name, const struct command *words)
{
	struct trial trial = TRIAL_INIT;
	struct err err;
	int status = contract_ask(
		contract, &trial, words, DEADLINE_NS + CONTRACT_GRACE_NS, &err);

	if (status == 0 && trial_ended(&trial, 0) &&
		trial.took_ns < DEADLINE_NS + contract->subject.extra_ns) {
		contract_skip(contract, name, "it was done before, without an answer");
	} else {
		if (status == 0)
			status = judge_deadline(contract, &trial, &err);
		contract_report(contract, name, status, &err);
	}
	contract_end(contract, &trial);
}

void
contract_check_deadlines(struct contract *contract)
{
	static const char *const names[] = {"deadline of run", "deadline of serve"};
	struct command run = {0}, serve = {0};

	if (!contract->works) {
		for (size_t i = 0; i < 2; i++)
			contract_skip(contract, names[i], "no pair over IPv4 yet");
		return;
	}
	command_add_words(&run, WORDS("run", "--peer", contract->subject.peer, "--samples", "3",
					"--deadline", DEADLINE));
	command_add_words(
		&serve, WORDS("serve", "--listen", "127.0.0.1:0", "--deadline", DEADLINE));
	check_deadline(contract, names[0], &run);
	check_deadline(contract, names[1], &serve);
	command_free(&run);
	command_free(&serve);
}
