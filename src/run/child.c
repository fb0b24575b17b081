/* Starts, reads and ends child processes; every wait is on a descriptor, with a deadline. */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"

#define LOG_MAX ((rlim_t)64 << 20)
#define SET_MAX 5
#define STRAY_ROUNDS 1000 /* more processes than that one after the other: give up */

static volatile sig_atomic_t stop_asked;

static void
on_stop(int signal)
{
	(void)signal;
	stop_asked = 1;
}

/* The signals that ask us to stop: blocked but while we wait, so that none is missed. */
static void
stop_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

void
child_catch_stop(void)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	struct sigaction action = {.sa_handler = on_stop}, before;
	sigset_t set;

	stop_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], NULL, &before);
		if (before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

bool
child_stop_asked(void)
{
	return stop_asked != 0;
}

/* Move two descriptors to 3 and 4 without one overwriting the other. */
static bool
pass_namespaces(const int fds[2])
{
	int high[2];

	for (int i = 0; i < 2; i++) {
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 16);
		if (high[i] < 0)
			return false;
	}
	return dup2(high[0], CHILD_NS_FIRST) >= 0 && dup2(high[1], CHILD_NS_FIRST + 1) >= 0;
}

/* In the forked child. Returns only when something failed, with errno set. */
static void
become(const struct child_spec *spec, pid_t parent, int in, int out, int log)
{
	struct rlimit limit = {LOG_MAX, LOG_MAX};
	sigset_t none;

	proc_die_with_parent(parent);
	setpgid(0, 0); /* so that what it starts can be ended with it */
	if (spec->netns >= 0 && setns(spec->netns, CLONE_NEWNET) < 0)
		return;
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(log, 2) < 0)
		return;
	if (spec->pass_ns[0] >= 0 && !pass_namespaces(spec->pass_ns))
		return;
	setrlimit(RLIMIT_FSIZE, &limit);
	sigemptyset(&none);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(spec->argv[0], (char *const *)(const void *)spec->argv);
}

static pid_t
fork_child(const struct child_spec *spec, int in, int out, int log, int report)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	ssize_t ignored;

	if (pid)
		return pid;
	become(spec, parent, in, out, log);
	ignored = write(report, &errno, sizeof(errno));
	(void)ignored;
	_exit(127);
}

static void
close_pipe(int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* What it reads: `in` gets the end it does, and the end to hold or -1. */
static int
open_stdin(const struct child_spec *spec, int in[2])
{
	if (spec->hold_stdin)
		return pipe2(in, O_CLOEXEC);
	in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return in[0] < 0 ? -1 : 0;
}

int
child_start(
	const struct child_spec *spec, const char *what, struct child *child, struct err *err)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, report[2] = {-1, -1};
	int log = open(spec->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	int failed = 0, status = -1;

	*child = (struct child)CHILD_INIT;
	child->what = what;
	if (open_stdin(spec, in) < 0 || log < 0 || pipe2(out, O_CLOEXEC) < 0 ||
		pipe2(report, O_CLOEXEC) < 0) {
		err_sys(err, "start the %s (log %s)", what, spec->log);
		goto out;
	}
	child->pid = fork_child(spec, in[0], out[1], log, report[1]);
	if (child->pid < 0) {
		child->pid = 0;
		err_sys(err, "start the %s", what);
		goto out;
	}
	close(report[1]);
	report[1] = -1;
	if (read(report[0], &failed, sizeof(failed)) == sizeof(failed)) {
		waitpid(child->pid, NULL, 0);
		child->pid = 0;
		errno = failed;
		err_sys(err, "start the %s: %s", what, spec->argv[0]);
		goto out;
	}
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0) {
		err_sys(err, "watch the %s", what);
		kill(child->pid, SIGKILL);
		waitpid(child->pid, NULL, 0);
		child->pid = 0;
		goto out;
	}
	child->out_fd = out[0];
	child->in_fd = in[1];
	out[0] = in[1] = -1;
	status = 0;
out:
	close_pipe(in);
	close_pipe(out);
	close_pipe(report);
	if (log >= 0)
		close(log);
	return status;
}

/* One read of its stdout. */
static void
read_output(struct child *child)
{
	char *end = buf_reserve(&child->out, 65536);
	ssize_t got = read(child->out_fd, end, 65536);

	if (got < 0 && errno == EINTR)
		return;
	if (got > 0) {
		child->out.len += (size_t)got;
		child->out.data[child->out.len] = '\0';
	} else {
		close(child->out_fd);
		child->out_fd = -1;
	}
	if (child->out.len > CHILD_OUTPUT_MAX) {
		child->overflow = true;
		kill(-child->pid, SIGKILL);
	}
}

/* It has ended, as its pidfd says; until it is waited for, nobody else gets its number. */
static void
reap(struct child *child)
{
	int status = 0;

	kill(-child->pid, SIGKILL); /* what it started and left behind */
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	child->exited = true;
	child->status = proc_status(status);
}

static bool
is_ready(const struct child *child)
{
	return *child_ready_text(child) != '\0';
}

/* Everything already in the pipe of an ended child. */
static void
read_rest(struct child *child)
{
	struct pollfd fd = {child->out_fd, POLLIN, 0};

	while (child->out_fd >= 0 && poll(&fd, 1, 0) > 0 && !child->overflow)
		read_output(child);
}

/* One round of poll() over all of the set: at most until the deadline or a signal. */
static void
poll_set(struct child *const set[], size_t count, int64_t deadline_ns)
{
	struct pollfd fds[2 * SET_MAX];
	int64_t left = deadline_ns - clock_now();
	struct timespec timeout;
	sigset_t none;

	if (left < 0)
		left = 0;
	timeout = (struct timespec){left / NS_PER_S, left % NS_PER_S};
	for (size_t i = 0; i < count; i++) {
		fds[2 * i] = (struct pollfd){set[i]->out_fd, POLLIN, 0};
		fds[2 * i + 1] = (struct pollfd){
			set[i]->exited ? -1 : set[i]->pidfd, POLLIN, 0};
	}
	sigemptyset(&none);
	if (ppoll(fds, 2 * count, &timeout, &none) <= 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (fds[2 * i].revents && set[i]->out_fd >= 0)
			read_output(set[i]);
		if (fds[2 * i + 1].revents) {
			reap(set[i]);
			read_rest(set[i]);
		}
	}
}

enum child_event
child_wait(struct child *const set[], size_t count, struct child *target, bool ready,
	int64_t deadline_ns)
{
	for (;;) {
		if (ready && is_ready(target))
			return CHILD_READY;
		if (target->exited)
			return CHILD_EXITED;
		for (size_t i = 0; i < count; i++)
			if (set[i] != target && set[i]->exited)
				return CHILD_OTHER_EXITED;
		if (stop_asked)
			return CHILD_STOPPED;
		if (clock_now() >= deadline_ns)
			return CHILD_TIMEOUT;
		poll_set(set, count, deadline_ns);
	}
}

bool
child_stop(struct child *child, int64_t grace_ns)
{
	struct child *set[] = {child};
	int64_t deadline_ns = clock_now() + grace_ns;

	if (!child->pid || child->exited)
		return true;
	kill(child->pid, SIGTERM);
	while (!child->exited && clock_now() < deadline_ns)
		poll_set(set, 1, deadline_ns);
	if (child->exited)
		return true;
	kill(-child->pid, SIGKILL);
	while (!child->exited)
		poll_set(set, 1, clock_now() + NS_PER_S);
	return false;
}

int
child_tell(const struct child *child, const char *words, struct err *err)
{
	size_t len = strlen(words);

	/* A pipe takes these few bytes at once or not at all; SIGPIPE is ignored. */
	if (write(child->in_fd, words, len) != (ssize_t)len)
		return err_sys(err, "tell the %s", child->what);
	return 0;
}

void
child_end_input(struct child *child)
{
	if (child->in_fd >= 0)
		close(child->in_fd);
	child->in_fd = -1;
}

void
child_free(struct child *child)
{
	if (child->pid && !child->exited)
		child_stop(child, 0);
	if (child->out_fd >= 0)
		close(child->out_fd);
	child_end_input(child);
	if (child->pidfd >= 0)
		close(child->pidfd);
	buf_free(&child->out);
	*child = (struct child)CHILD_INIT;
}

void
child_adopt_strays(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void
child_end_strays(void)
{
	char *path = alloc_printf("/proc/self/task/%ld/children", (long)getpid());
	struct buf children = {0};

	/* What a killed one leaves comes to us in turn. */
	for (int round = 0; round < STRAY_ROUNDS; round++) {
		char *at = NULL, *rest;
		bool known;

		buf_clear(&children);
		known = file_read(path, 65536, &children, NULL) == 0;
		if (known)
			at = children.data;
		for (rest = at; at && *at; at = rest) {
			long pid = strtol(at, &rest, 10);

			if (rest == at)
				break;
			kill((pid_t)pid, SIGKILL);
		}
		/* A kernel that does not tell them leaves them to themselves: nothing to wait
		 * for. */
		if (waitpid(-1, NULL, known ? 0 : WNOHANG) <= 0 && (!known || errno == ECHILD))
			break;
	}
	buf_free(&children);
	free(path);
}

const char *
child_ready_text(const struct child *child)
{
	static char text[128];
	const char *line = buf_text(&child->out);

	while (strncmp(line, "ready ", 6)) {
		line = strchr(line, '\n');
		if (!line)
			return "";
		line++;
	}
	line += 6;
	if (!strchr(line, '\n'))
		return ""; /* half a line so far */
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, "\r\n"), line);
	return text;
}
