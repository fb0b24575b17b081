/* Runs a command, bounded in time, and keeps what it printed. */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

#define OUTPUT_MAX ((size_t)16 << 20) /* a command that prints more is read but not kept */

void
proc_fill_std(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

void
proc_die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
}

int
proc_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status)
					: WEXITSTATUS(wait_status);
}

/* In the child: never returns. A failed exec reports errno through `report`. */
static void
become(const char *const argv[], pid_t parent, int out, int err, int report)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;
	ssize_t ignored;

	proc_die_with_parent(parent);
	setpgid(0, 0); /* so that what it starts can be killed with it */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0)
		execvp(argv[0], (char *const *)(const void *)argv);
	ignored = write(report, &errno, sizeof(errno));
	(void)ignored;
	_exit(127);
}

/* Read once from a ready descriptor; closes it and sets it to -1 at its end. */
static void
drain(struct pollfd *from, struct buf *into)
{
	char *end = buf_reserve(into, 4096);
	ssize_t got = read(from->fd, end, 4096);

	if (got > 0) {
		if (into->len < OUTPUT_MAX)
			into->len += (size_t)got;
		into->data[into->len] = '\0';
	} else if (got == 0 || errno != EINTR) {
		close(from->fd);
		from->fd = -1;
	}
}

/* Collect both streams until they end; false when the deadline came first. */
static bool
collect(struct pollfd fds[2], int64_t deadline_ns, struct proc_output *output)
{
	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		int wait_ms = clock_poll_ms(deadline_ns);

		if (wait_ms == 0)
			return false;
		if (poll(fds, 2, wait_ms) < 0 && errno != EINTR)
			return false;
		if (fds[0].fd >= 0 && fds[0].revents)
			drain(&fds[0], &output->out);
		if (fds[1].fd >= 0 && fds[1].revents)
			drain(&fds[1], &output->err);
	}
	return true;
}

/* Wait for the child; kill it when it has closed its output but lives past the deadline. */
static int
reap(pid_t child, int64_t deadline_ns, bool *timed_out)
{
	int status = 0, waited;

	while ((waited = waitpid(child, &status, *timed_out ? 0 : WNOHANG)) <= 0) {
		if (waited < 0 && errno != EINTR)
			return 255;
		if (clock_now() >= deadline_ns) {
			*timed_out = true;
			kill(-child, SIGKILL);
		} else {
			poll(NULL, 0, 1);
		}
	}
	return proc_status(status);
}

int
proc_capture(const char *const argv[], int64_t deadline_ns, struct proc_output *output,
	struct err *err)
{
	int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
	int child_errno = 0, status = -1;
	pid_t parent = getpid(), child;

	for (int i = 0; i < 3; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) < 0) {
			err_sys(err, "start %s", argv[0]);
			goto out;
		}
	}
	child = fork();
	if (child == 0)
		become(argv, parent, pipes[0][1], pipes[1][1], pipes[2][1]);
	if (child < 0) {
		err_sys(err, "start %s", argv[0]);
		goto out;
	}
	for (int i = 0; i < 3; i++) {
		close(pipes[i][1]);
		pipes[i][1] = -1;
	}
	if (read(pipes[2][0], &child_errno, sizeof(child_errno)) == sizeof(child_errno)) {
		waitpid(child, NULL, 0);
		errno = child_errno;
		err_sys(err, "start %s", argv[0]);
		goto out;
	}
	{
		struct pollfd fds[2] = {{pipes[0][0], POLLIN, 0}, {pipes[1][0], POLLIN, 0}};

		output->timed_out = !collect(fds, deadline_ns, output);
		pipes[0][0] = fds[0].fd;
		pipes[1][0] = fds[1].fd;
	}
	if (output->timed_out)
		kill(-child, SIGKILL);
	output->exit_status = reap(child, deadline_ns, &output->timed_out);
	status = 0;
out:
	for (int i = 0; i < 3; i++)
		for (int end = 0; end < 2; end++)
			if (pipes[i][end] >= 0)
				close(pipes[i][end]);
	return status;
}

void
proc_output_free(struct proc_output *output)
{
	buf_free(&output->out);
	buf_free(&output->err);
}

char *
proc_last_line(const struct buf *text)
{
	const char *start = buf_text(text);
	const char *end = start + text->len;
	const char *line;

	while (end > start && strchr(" \t\r\n", end[-1]))
		end--;
	for (line = end; line > start && line[-1] != '\n'; line--)
		;
	return alloc_text_n(line, (size_t)(end - line));
}
