/* Runs tc for the netem backend, and says what its failures mean. */
#include "link/netem_tc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "link/netem.h"

#define TC_TIMEOUT_NS (5 * NS_PER_S)

static int
run_tc(const struct space *space, const char *const argv[], struct proc_output *output,
	struct err *err)
{
	if (space_run_tc(space, argv, clock_now() + TC_TIMEOUT_NS, output, err) == 0)
		return output->timed_out ? err_set(err, "tc did not end within 5 s") : 0;
	if (errno != ENOENT && errno != EACCES)
		return -1;
	err_prefix(err, "no tc on this machine: 'sudo apt-get install iproute2'");
	return LINK_UNSUPPORTED;
}

/* Why tc failed, and what would mend it; `kind` is the qdisc that it was about. */
static int
explain(const struct proc_output *output, const char *kind, struct err *err)
{
	char *line = proc_last_line(&output->err);
	const char *words = buf_text(&output->err);
	int status = LINK_UNSUPPORTED;

	switch (netem_fault(words)) {
	case NETEM_NO_QDISC:
		err_set(err,
			"the kernel has no %s (sch_%s): 'sudo modprobe sch_%s', or a kernel "
			"with it in its configuration; tc says: %s",
			kind, kind, kind, line);
		break;
	case NETEM_NO_PRIVILEGE:
		err_set(err,
			"no CAP_NET_ADMIN in this namespace: run as root, or under 'unshare "
			"-Urn'; "
			"tc says: %s",
			line);
		break;
	case NETEM_NO_DUPLICATES:
		err_set(err,
			"this kernel refuses 'duplicate' here: leave it out, or take the "
			"backend tun; tc says: %s",
			line);
		break;
	case NETEM_NO_TABLE:
		err_set(err,
			"tc has no table of this 'distribution' (iproute2's *.dist files): take "
			"the backend tun; tc says: %.200s",
			words);
		break;
	case NETEM_UNKNOWN_WORD:
		err_set(err, "this tc is too old for the link: take the backend tun; %.200s",
			words);
		break;
	case NETEM_REFUSED:
		err_set(err,
			"the kernel's %s refuses a setting of this link: take the backend tun; "
			"tc says: %s",
			kind, line);
		break;
	case NETEM_OTHER:
		status = err_set(err, "tc failed with %d: %s", output->exit_status, line);
	}
	free(line);
	return status;
}

int
netem_tc_show(const struct link *link, enum end end, bool counters, struct proc_output *output,
	struct err *err)
{
	const char *argv[] = {"tc", "-j", "-d", counters ? "-s" : "-d", "qdisc", "show", "dev",
		link->ends[end].device, NULL};
	int status = run_tc(&link->space[end], argv, output, err);

	if (status == 0 && output->exit_status)
		status = explain(output, "netem", err);
	return status;
}

bool
netem_tc_has_seed(const struct link *link)
{
	const char *const argv[] = {"tc", "qdisc", "add", "dev", link->ends[NEAR].device,
		"root", "netem", "help", NULL};
	struct proc_output output = {0};
	bool has = run_tc(&link->space[NEAR], argv, &output, NULL) == 0 &&
		   (strstr(buf_text(&output.out), "seed") ||
			   strstr(buf_text(&output.err), "seed"));

	proc_output_free(&output);
	return has;
}

int
netem_tc_delete(const struct link *link, enum end end, struct err *err)
{
	const char *const argv[] = {
		"tc", "qdisc", "del", "dev", link->ends[end].device, "root", NULL};
	struct proc_output output = {0};
	int status = run_tc(&link->space[end], argv, &output, err);

	if (status == 0 && output.exit_status)
		status = explain(&output, "netem", err);
	proc_output_free(&output);
	return status;
}

int
netem_tc_add(const struct link *link, enum end end, const struct impairment *path,
	const uint64_t *seed, struct err *err)
{
	static const char *const kinds[NETEM_COMMANDS_MAX] = {"netem", "tbf"};
	struct netem_args commands[NETEM_COMMANDS_MAX];
	int count = netem_commands(link->ends[end].device, path, seed, commands), status = 0;

	for (int i = 0; i < count && !status; i++) {
		struct proc_output output = {0};

		status = run_tc(&link->space[end], commands[i].argv, &output, err);
		if (status == 0 && output.exit_status)
			status = explain(&output, kinds[i], err);
		proc_output_free(&output);
	}
	return status;
}
