/* Starts, drives and stops one pair on the loopback. */
#include "run/contract_pair.h"

#include <stdlib.h>

#include "run/contract.h"

#define SERVE_DEADLINE "60s"
#define RUN_DEADLINE "20s"
#define RUN_DEADLINE_NS (20 * NS_PER_S)

static void
add_defaults(struct command *command, const struct contract *contract,
	const struct pair_setting *setting)
{
	for (size_t i = 0; setting->defaults && i < contract->desc.option_count; i++) {
		const struct opt *option = &contract->desc.options[i];

		if (option->default_text)
			command_add(command, "%s=%s", option->name, option->default_text);
	}
}

/* It did not do what was expected: is that because it cannot be done here? */
static enum pair_end
fail(const struct trial *trial, const char *expected, struct err *err)
{
	char *reason = trial_reason(trial);
	enum pair_end end = PAIR_BAD;
	struct err came;

	if (trial_ended(trial, CONTRACT_UNSUPPORTED) && *reason) {
		err_set(err, "%s says: %s", trial->child.what, reason);
		end = PAIR_UNSUPPORTED;
	} else {
		trial_tell(trial, &came);
		err_set(err, "expected %s, %s", expected, came.text);
	}
	free(reason);
	return end;
}

enum pair_end
pair_serve(struct pair *pair, struct contract *contract, const struct pair_setting *setting,
	struct err *err)
{
	struct command command = {0};
	int status;

	command_add_words(&command,
		WORDS("serve", "--listen", setting->listen, "--deadline", SERVE_DEADLINE));
	add_defaults(&command, contract, setting);
	status = contract_start(
		contract, &pair->serve, "serve", setting->locale, &command, err);
	command_free(&command);
	if (status < 0)
		return PAIR_BAD;
	trial_await(&pair->serve, NULL, true, CONTRACT_READY_NS + contract->subject.extra_ns);
	if (pair->serve.event != CHILD_READY)
		return fail(&pair->serve, "a ready line within 10 s", err);
	if (contract_ready(setting->listen, child_ready_text(&pair->serve.child), err) < 0)
		return PAIR_BAD;
	return PAIR_OK;
}

enum pair_end
pair_run(struct pair *pair, struct contract *contract, const struct pair_setting *setting,
	struct err *err)
{
	struct command command = {0};
	int status;

	trial_free(&pair->run);
	command_add_words(&command,
		WORDS("run", "--peer", child_ready_text(&pair->serve.child), "--samples"));
	command_add(&command, "%d", PAIR_SAMPLES);
	command_add_words(&command, WORDS("--deadline", RUN_DEADLINE));
	add_defaults(&command, contract, setting);
	status = contract_start(contract, &pair->run, "run", setting->locale, &command, err);
	command_free(&command);
	if (status < 0)
		return PAIR_BAD;
	trial_await(&pair->run, &pair->serve, false,
		RUN_DEADLINE_NS + CONTRACT_GRACE_NS + contract->subject.extra_ns);
	if (!trial_ended(&pair->run, 0))
		return fail(&pair->run, "exit 0", err);
	return PAIR_OK;
}

int
pair_stop(struct pair *pair, const struct contract *contract, struct err *err)
{
	struct err came;

	trial_stop(&pair->serve, CONTRACT_STOP_NS + contract->subject.extra_ns);
	if (trial_ended(&pair->serve, 0))
		return 0;
	if (pair->serve.event == CHILD_TIMEOUT)
		return err_set(err,
			"expected exit 0 within 1 s of SIGTERM, serve went on and was killed");
	trial_tell(&pair->serve, &came);
	return err_set(err, "expected exit 0 after SIGTERM, %s", came.text);
}

int
pair_read(struct pair *pair, struct err *err)
{
	struct err came;

	if (tally_read(&pair->ran, &pair->run.child.out, &came) < 0)
		return err_set(err, "expected records only, run printed in %s", came.text);
	if (tally_read(&pair->served, &pair->serve.child.out, &came) < 0)
		return err_set(err, "expected records only, serve printed in %s", came.text);
	return 0;
}

void
pair_free(struct pair *pair, const struct contract *contract)
{
	tally_free(&pair->ran);
	tally_free(&pair->served);
	trial_free(&pair->run);
	contract_end(contract, &pair->serve);
}
