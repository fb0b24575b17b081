/* Child processes: what they print, how they end, that they end. */
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"

/* Run `script` in a shell with `limit_ms` of time. */
static int
shell(const char *script, int64_t limit_ms, struct proc_output *output, struct err *err)
{
	const char *const argv[] = {"sh", "-c", script, NULL};

	*output = (struct proc_output){0};
	return proc_capture(argv, clock_now() + limit_ms * NS_PER_MS, output, err);
}

static void
captures(void)
{
	struct proc_output output;
	struct err err = {0};

	CHECK_INT(shell("echo out; echo err >&2; exit 3", 10000, &output, &err), 0);
	CHECK_TEXT(buf_text(&output.out), "out\n");
	CHECK_TEXT(buf_text(&output.err), "err\n");
	CHECK_INT(output.exit_status, 3);
	CHECK_INT(output.timed_out, false);
	proc_output_free(&output);
}

static void
captures_much(void)
{
	struct proc_output output;
	struct err err = {0};

	CHECK_INT(shell("head -c 1000000 /dev/zero; head -c 300000 /dev/zero >&2", 10000,
			  &output, &err),
		0);
	CHECK_INT(output.out.len, 1000000);
	CHECK_INT(output.err.len, 300000);
	CHECK_INT(output.exit_status, 0);
	proc_output_free(&output);
}

static void
stdin_is_empty(void)
{
	struct proc_output output;
	struct err err = {0};

	CHECK_INT(shell("cat; echo end", 10000, &output, &err), 0);
	CHECK_TEXT(buf_text(&output.out), "end\n");
	proc_output_free(&output);
}

static void
signals_are_statuses(void)
{
	struct proc_output output;
	struct err err = {0};

	CHECK_INT(shell("kill -TERM $$", 10000, &output, &err), 0);
	CHECK_INT(output.exit_status, 128 + SIGTERM);
	CHECK_INT(output.timed_out, false);
	proc_output_free(&output);
}

static void
missing_command(void)
{
	static const char *const argv[] = {"no-such-command-here", NULL};
	struct proc_output output = {0};
	struct err err = {0};

	CHECK_INT(proc_capture(argv, clock_now() + NS_PER_S, &output, &err), -1);
	CHECK_TEXT(err.text, "start no-such-command-here: No such file or directory");
	proc_output_free(&output);
}

static void
not_executable(void)
{
	static const char *const argv[] = {"/dev/null", NULL};
	struct proc_output output = {0};
	struct err err = {0};

	CHECK_INT(proc_capture(argv, clock_now() + NS_PER_S, &output, &err), -1);
	CHECK_TEXT(err.text, "start /dev/null: Permission denied");
	proc_output_free(&output);
}

static void
deadline_kills(void)
{
	int64_t start_ns = clock_now();
	struct proc_output output;
	struct err err = {0};

	CHECK_INT(shell("echo begun; exec sleep 60", 1000, &output, &err), 0);
	CHECK_INT(output.timed_out, true);
	CHECK_INT(output.exit_status, 128 + SIGKILL);
	CHECK_TEXT(buf_text(&output.out), "begun\n");
	CHECK_BETWEEN(clock_now() - start_ns, NS_PER_S, 20 * NS_PER_S);
	proc_output_free(&output);
}

/* It closes its output but stays. */
static void
deadline_kills_the_silent(void)
{
	struct proc_output output;
	struct err err = {0};

	CHECK_INT(shell("exec sleep 60 >/dev/null 2>&1", 200, &output, &err), 0);
	CHECK_INT(output.timed_out, true);
	CHECK_INT(output.exit_status, 128 + SIGKILL);
	proc_output_free(&output);
}

/* What the command started is killed with it. */
static void
deadline_kills_grandchildren(void)
{
	int64_t deadline_ns = clock_now() + 10 * NS_PER_S;
	struct proc_output output;
	struct err err = {0};
	pid_t grandchild;

	CHECK_INT(shell("sleep 60 & echo $!; wait", 1000, &output, &err), 0);
	CHECK_INT(output.timed_out, true);
	grandchild = atoi(buf_text(&output.out));
	CHECK_INT(grandchild > 1, true);
	while (grandchild > 1 && kill(grandchild, 0) == 0 && clock_now() < deadline_ns) {
		/* Killed and orphaned: init, or whoever adopts it, may be slow to notice. */
		char path[64], state = 0;
		FILE *stat;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)grandchild);
		stat = fopen(path, "r");
		if (!stat || fscanf(stat, "%*d %*s %c", &state) != 1 || state == 'Z')
			deadline_ns = 0;
		if (stat)
			fclose(stat);
	}
	CHECK_INT(clock_now() < deadline_ns || deadline_ns == 0, true);
	proc_output_free(&output);
}

static void
on_signal(int number)
{
	(void)number;
}

/* Signals that interrupt us do not lose the child or its status. */
static void
survives_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal}, old;
	struct proc_output output;
	struct err err = {0};
	char script[128];

	sigaction(SIGUSR1, &action, &old);
	snprintf(script, sizeof(script),
		"for i in 1 2 3 4 5 6 7 8 9; do kill -USR1 %d; echo $i; done; exit 5",
		(int)getpid());
	CHECK_INT(shell(script, 10000, &output, &err), 0);
	CHECK_TEXT(buf_text(&output.out), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	CHECK_INT(output.exit_status, 5);
	sigaction(SIGUSR1, &old, NULL);
	proc_output_free(&output);
}

/* The child of a process that dies is killed too. */
static void
child_dies_with_parent(void)
{
	int ends[2];
	char byte;
	pid_t parent;

	CHECK_INT(pipe(ends), 0);
	parent = fork();
	if (parent == 0) {
		pid_t self = getpid();

		if (fork() == 0) {
			proc_die_with_parent(self);
			alarm(30); /* if nobody else ends it */
			if (write(ends[1], "r", 1) == 1)
				pause();
			_exit(1);
		}
		if (read(ends[0], &byte, 1) != 1) /* the child is ready */
			_exit(1);
		_exit(0);
	}
	close(ends[1]);
	CHECK_INT(waitpid(parent, NULL, 0), parent);
	/* the end of the pipe comes when the grandchild is gone */
	CHECK_INT(poll(&(struct pollfd){ends[0], POLLIN, 0}, 1, 10000), 1);
	close(ends[0]);
}

static void
last_lines(void)
{
	static const struct {
		const char *text, *line;
	} cases[] = {{"", ""}, {"\n \n", ""}, {"one", "one"}, {"one\ntwo\n", "two"},
		{"one\ntwo\n\n  \r\n", "two"}, {"a\n  b c\n", "  b c"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text = {0};
		char *line;

		buf_puts(&text, cases[i].text);
		line = proc_last_line(&text);
		CHECK_TEXT(line, cases[i].line);
		free(line);
		buf_free(&text);
	}
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"captures", captures},
		{"captures much", captures_much},
		{"stdin is empty", stdin_is_empty},
		{"signals are statuses", signals_are_statuses},
		{"missing command", missing_command},
		{"not executable", not_executable},
		{"deadline kills", deadline_kills},
		{"deadline kills the silent", deadline_kills_the_silent},
		{"deadline kills grandchildren", deadline_kills_grandchildren},
		{"survives signals", survives_signals},
		{"child dies with parent", child_dies_with_parent},
		{"last lines", last_lines},
		CU_TEST_INFO_NULL,
	};

	return check_main("base proc", tests);
}
