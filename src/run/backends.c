/* Chooses the link backend. */
#include "run/backends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"
#include "stat/record.h"

#define ASK_NS (20 * NS_PER_S)

/* "ok" or "unsupported: reason; how to mend it" */
static void
take_answer(const char *text, struct backend_answer *answer)
{
	const char *colon = strstr(text, ": ");

	answer->works = !strcmp(text, "ok");
	snprintf(answer->reason, sizeof(answer->reason), "%s", colon ? colon + 2 : text);
}

static int
take(const struct record *record, void *context, struct err *err)
{
	struct backends *backends = context;

	(void)err;
	if (!strcmp(record->name, "netem"))
		take_answer(record->text, &backends->netem);
	else if (!strcmp(record->name, "tun"))
		take_answer(record->text, &backends->tun);
	return 0;
}

int
backends_ask(const char *bin, struct backends *backends, struct err *err)
{
	char *path = alloc_printf("%s/rttlink", bin);
	const char *const argv[] = {path, "backends", NULL};
	struct proc_output output = {0};
	int status = proc_capture(argv, clock_now() + ASK_NS, &output, err);

	*backends = (struct backends){
		.netem.reason = "rttlink did not say",
		.tun.reason = "rttlink did not say",
	};
	if (status == 0)
		record_each(buf_text(&output.out), output.out.len, take, backends, NULL);
	proc_output_free(&output);
	free(path);
	return status;
}

const char *
backends_choose(
	const struct backends *backends, const char *name, struct err *why, struct err *err)
{
	const struct backend_answer *netem = &backends->netem, *tun = &backends->tun;
	bool any = !strcmp(name, "auto");

	if (netem->works && (any || !strcmp(name, "netem"))) {
		err_set(why, "link netem: %s", any ? "the kernel has it" : "as asked");
		return "netem";
	}
	if (tun->works && (any || !strcmp(name, "tun"))) {
		if (any)
			err_set(why, "link tun: our emulator, since %s", netem->reason);
		else
			err_set(why, "link tun: as asked");
		return "tun";
	}
	if (any)
		err_set(err, "no link backend works here: netem: %s; tun: %s", netem->reason,
			tun->reason);
	else
		err_set(err, "link %s: %s", name, *name == 'n' ? netem->reason : tun->reason);
	return NULL;
}
