/* The processes of a command behind a link, and the signals between them.
 *
 *   rttlink, the emulator ---+--- COMMAND     in the enclosed namespace
 *                            +--- sh -c ...   --server, at the far end
 *
 * The children are made before the link and wait for it at a gate, so that they inherit nothing
 * of what the emulator does to itself (core, scheduling, network namespace). They are killed
 * when this process is, but not what they started in turn. The command stays in our process
 * group: what a terminal sends for Ctrl-C or Ctrl-Z it sends to both of us, and then it is for
 * the command to end. */
#include "cmd/rttlink_command.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/netns.h"
#include "base/proc.h"
#include "link/enclosure.h"

enum { EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

#define SERVER_END_NS NS_PER_S /* from SIGTERM to SIGKILL */

struct run {
	const struct command_plan *plan;
	struct enclosure enclosure;
	sigset_t old_mask;
	int signals; /* signalfd */
	int gate[2]; /* a pipe, for the children to wait at */
	pid_t command, server;
};

static void
say(const char *name, const char *text)
{
	fprintf(stderr, "rttlink: %s %s\n", name, text);
}

static void
say_nothing(const char *name, const char *text)
{
	(void)name;
	(void)text;
}

/* In a child: wait until there is a link, and take its number. */
static void
wait_at_gate(const struct run *run, struct end_address ends[static ENDS])
{
	close(run->gate[1]);
	if (read(run->gate[0], ends, sizeof(*ends) * ENDS) != (ssize_t)sizeof(*ends) * ENDS)
		_exit(EXIT_NOT_FOUND); /* there is none: our parent says why */
}

/* In a child: never returns. */
static void
become(const struct run *run, enum end end, char *const argv[])
{
	struct end_address ends[ENDS];
	struct err err;
	int error;

	wait_at_gate(run, ends);
	sigprocmask(SIG_SETMASK, &run->old_mask, NULL);
	setenv("RTTLINK_NEAR", ends[NEAR].ipv4, 1);
	setenv("RTTLINK_FAR", ends[FAR].ipv4, 1);
	if (netns_enter(run->enclosure.link.space[end].ns, &err) == 0) {
		execvp(argv[0], argv);
		err_sys(&err, "start %s", argv[0]);
	}
	error = errno;
	fprintf(stderr, "rttlink: %s\n", err.text);
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}

static pid_t
start_command(const struct run *run, struct err *err)
{
	pid_t parent = getpid(), child = fork();

	if (child == 0) {
		proc_die_with_parent(parent);
		become(run, NEAR, run->plan->command);
	}
	return child < 0 ? err_sys(err, "start %s", run->plan->command[0]) : child;
}

/* In a process group of its own: it ends with the command, not at Ctrl-C. */
static pid_t
start_server(const struct run *run, struct err *err)
{
	char *server = (char *)(uintptr_t)run->plan->server;
	char *argv[] = {"sh", "-c", server, NULL};
	pid_t parent = getpid(), child = fork();

	if (child == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		proc_die_with_parent(parent);
		setpgid(0, 0);
		dup2(null, STDIN_FILENO);
		become(run, FAR, argv);
	}
	if (child > 0)
		setpgid(child, child); /* whoever comes first */
	return child < 0 ? err_sys(err, "start the server") : child;
}

/* From here on signals are read, not delivered. */
static int
watch_signals(struct run *run, struct err *err)
{
	static const int watched[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		sigaddset(&set, watched[i]);
	signal(SIGCHLD, SIG_DFL); /* who ignores it has no exit status */
	sigprocmask(SIG_BLOCK, &set, &run->old_mask);
	run->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signals < 0 ? err_sys(err, "watch for signals") : 0;
}

static int
start(struct run *run, struct err *err)
{
	int status = enclosure_prepare(&run->enclosure, err);

	if (status)
		return status;
	if (watch_signals(run, err) < 0)
		return -1;
	if (pipe2(run->gate, O_CLOEXEC) < 0)
		return err_sys(err, "make a pipe");
	run->command = start_command(run, err);
	if (run->command < 0)
		return -1;
	if (run->plan->server) {
		run->server = start_server(run, err);
		if (run->server < 0)
			return -1;
	}
	return 0;
}

/* Let one child through. */
static int
open_gate(const struct run *run, struct err *err)
{
	size_t len = sizeof(run->enclosure.ends);

	return write(run->gate[1], run->enclosure.ends, len) == (ssize_t)len
		       ? 0
		       : err_sys(err, "start the command");
}

/* Is it for the command alone to act on, and did only we get it? What a key sends, both of us
 * get; when the terminal hangs up, it tells the leader of its session. */
static bool
is_to_pass(const struct signalfd_siginfo *info)
{
	return info->ssi_signo == SIGHUP ||
	       (info->ssi_signo != SIGCHLD && info->ssi_code != SI_KERNEL);
}

/* To the command, while it lives. */
static void
pass_signals(const struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof(info)) == sizeof(info))
		if (run->command > 0 && is_to_pass(&info))
			kill(run->command, (int)info.ssi_signo);
}

/* Carry packets until the command has ended. Its exit status, or -1. */
static int
carry(struct run *run, struct err *err)
{
	struct link *link = &run->enclosure.link;
	int status;

	for (;;) {
		if (link->backend->run(link, run->signals, err) < 0)
			return -1;
		pass_signals(run);
		if (waitpid(run->command, &status, WNOHANG) != run->command)
			continue;
		run->command = 0;
		return proc_status(status);
	}
}

/* What most links do not do is only told where it was done. */
static void
say_some(int64_t count, const char *what)
{
	if (count > 0)
		fprintf(stderr, ", %" PRId64 " %s", count, what);
}

static void
say_counters(struct run *run)
{
	struct link *link = &run->enclosure.link;
	struct link_counters counters = {0};
	struct err err;

	if (link->backend->count(link, &counters, &err) < 0) {
		say("counters", err.text);
		return;
	}
	for (enum direction i = UP; i < DIRECTIONS; i++) {
		fprintf(stderr,
			"rttlink: %s %" PRId64 " packets, %" PRId64 " lost, %" PRId64
			" dropped, %" PRId64 " missed",
			i == UP ? "up" : "down", counters.packets[i], counters.lost[i],
			counters.dropped[i], counters.missed[i]);
		say_some(counters.duplicated[i], "duplicated");
		say_some(counters.corrupted[i], "corrupted");
		say_some(counters.reordered[i], "reordered");
		fputc('\n', stderr);
	}
}

/* The link is open: let everything begin, and see it through. */
static int
serve(struct run *run, struct err *err)
{
	struct link *link = &run->enclosure.link;
	int status;

	if (run->plan->verbose)
		fprintf(stderr, "rttlink: near %s, far %s in %s, backend %s\n",
			run->enclosure.ends[NEAR].ipv4, run->enclosure.ends[FAR].ipv4,
			run->enclosure.outside_is_ours ? "the caller's network namespace"
						       : "a network namespace of its own",
			link->backend->name);
	if (open_gate(run, err) < 0 || (run->server && open_gate(run, err) < 0))
		return -1;
	if (link->backend->clock) /* the profile's timed changes count from here */
		link->backend->clock(link, true);
	status = carry(run, err);
	if (status >= 0 && run->plan->verbose)
		say_counters(run);
	return status;
}

/* SIGTERM, and SIGKILL for what is left of it a while later. */
static void
end_server(struct run *run)
{
	int64_t deadline_ns = clock_now() + SERVER_END_NS;
	struct pollfd child = {run->signals, POLLIN, 0};

	if (run->server <= 0)
		return;
	kill(-run->server, SIGTERM);
	while (waitpid(run->server, NULL, WNOHANG) == 0 && clock_poll_ms(deadline_ns) > 0)
		if (poll(&child, 1, clock_poll_ms(deadline_ns)) > 0)
			pass_signals(run);
	kill(-run->server, SIGKILL);
	waitpid(run->server, NULL, 0);
}

static void
end(struct run *run)
{
	for (int i = 0; i < 2; i++)
		if (run->gate[i] >= 0)
			close(run->gate[i]);
	if (run->command > 0) { /* the link failed it */
		kill(run->command, SIGKILL);
		waitpid(run->command, NULL, 0);
		run->command = 0;
	}
	end_server(run);
	enclosure_close(&run->enclosure);
	if (run->signals >= 0)
		close(run->signals);
}

int
command_run(const struct command_plan *plan, struct err *err)
{
	struct run run = {
		.plan = plan,
		.enclosure = {.link = {.backend = plan->backend,
				      .profile = plan->profile,
				      .seed = plan->seed,
				      .info = plan->verbose ? say : say_nothing}},
		.signals = -1,
		.gate = {-1, -1},
	};
	int status = start(&run, err);

	if (status == 0)
		status = enclosure_open(&run.enclosure, !plan->local, err);
	if (status == 0)
		status = serve(&run, err);
	end(&run);
	return status;
}
