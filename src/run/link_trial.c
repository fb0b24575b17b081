/* One link, brought up and taken down again. */
#include "run/link_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/engine.h"
#include "run/trial.h"

#define PROFILE "schema: 1\nrtt: 2ms\n"
#define UP_NS (20 * NS_PER_S)
#define STOP_NS (5 * NS_PER_S)
#define LIFE_NS (60 * NS_PER_S) /* should we be killed, and the sweeper too */

static int
start(const struct place *place, enum role role, const char *what, struct command *words,
	struct trial *trial, struct err *err)
{
	struct child_spec spec = CHILD_SPEC;
	struct command command = {0};
	int status;

	place->runtime->kind->begin(place, role, NULL, &command, &spec);
	command_append(&command, words);
	spec.argv = (const char *const *)command.argv;
	status = trial_start_as(trial, what, &spec, err);
	command_free(&command);
	return status;
}

static void
judge(const struct trial *trial, const struct trial *agent, struct backend_answer *answer)
{
	const struct trial *ended = trial->event == CHILD_OTHER_EXITED ? agent : trial;
	char *reason = engine_reason(&ended->err);

	answer->works = trial->event == CHILD_READY;
	if (trial->event == CHILD_TIMEOUT)
		snprintf(answer->reason, sizeof(answer->reason), "no link within 20 s");
	else
		snprintf(answer->reason, sizeof(answer->reason), "%s",
			!strncmp(reason, "rttlink: ", 9) ? reason + 9 : reason);
	free(reason);
}

int
link_trial(const struct runtime *runtime, const char *backend, struct backend_answer *answer,
	struct err *err)
{
	struct runtime with = *runtime;
	struct profile profile = {.text = (char[]){PROFILE}};
	struct trial agent = TRIAL_INIT, link = TRIAL_INIT;
	struct command command = {0};
	struct place place;
	int status = -1;

	with.link = backend;
	if (with.kind->open(&with, true, &place, err) < 0)
		return -1;
	command_link_agent(&command, &place, LIFE_NS);
	if (start(&place, ROLE_AGENT, "agent", &command, &agent, err) < 0)
		goto out;
	command_link_up(&command, &place, &profile, 1, LIFE_NS);
	if (start(&place, ROLE_LINK, "link", &command, &link, err) < 0)
		goto out;
	trial_await(&link, &agent, true, UP_NS);
	trial_read_words(&agent);
	judge(&link, &agent, answer);
	status = 0;
out:
	trial_stop(&link, STOP_NS);
	trial_stop(&agent, STOP_NS);
	with.kind->close(&place, status == 0 && answer->works);
	trial_free(&link);
	trial_free(&agent);
	return status;
}
