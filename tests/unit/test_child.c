/* Children are awaited by what they do, stopped when asked, and never outlive their pair. */
#include "check.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "run/child.h"

static char log_path[] = "/tmp/test_child.XXXXXX";

static int
start_shell(const char *script, struct child *child)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	struct child_spec spec = {
		.argv = argv, .netns = -1, .pass_ns = {-1, -1}, .log = log_path};
	struct err err;

	return child_start(&spec, "client", child, &err);
}

static enum child_event
wait_one(struct child *child, bool ready, int64_t limit_ns)
{
	struct child *set[] = {child};

	return child_wait(set, 1, child, ready, clock_now() + limit_ns);
}

static void
test_ready_then_term(void)
{
	struct child child;

	CHECK_INT(start_shell(
			  "trap 'echo count connections 3; exit 0' TERM; echo ready [::1]:80; "
			  "while :; do sleep 0.01; done",
			  &child),
		0);
	CHECK_INT(wait_one(&child, true, 5 * NS_PER_S), CHILD_READY);
	CHECK_TEXT(child_ready_text(&child), "[::1]:80");
	CU_ASSERT(child_stop(&child, 5 * NS_PER_S));
	CHECK_INT(child.status, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(buf_text(&child.out), "count connections 3\n"));
	child_free(&child);
}

static void
test_exit_before_ready(void)
{
	struct child child;

	CHECK_INT(start_shell("echo ready half; exit 7", &child), 0);
	CHECK_INT(wait_one(&child, false, 5 * NS_PER_S), CHILD_EXITED);
	CHECK_INT(child.status, 7);
	CHECK_TEXT(child_ready_text(&child), "half");
	child_free(&child);
	CHECK_INT(start_shell("printf 'ready unfinished'; exit 1", &child), 0);
	CHECK_INT(wait_one(&child, true, 5 * NS_PER_S), CHILD_EXITED);
	CHECK_TEXT(child_ready_text(&child), "");
	child_free(&child);
}

static void
test_timeout_and_kill(void)
{
	struct child child;
	pid_t pid;

	CHECK_INT(start_shell("trap '' TERM; echo ready deaf; while :; do sleep 0.01; done",
			  &child),
		0);
	pid = child.pid;
	CHECK_INT(wait_one(&child, true, 5 * NS_PER_S), CHILD_READY);
	CHECK_INT(wait_one(&child, false, 50 * NS_PER_MS), CHILD_TIMEOUT);
	CU_ASSERT(!child_stop(&child, 50 * NS_PER_MS));
	CHECK_INT(child.status, 128 + SIGKILL);
	child_free(&child);
	CHECK_INT(kill(pid, 0), -1);
}

static void
test_other_exits(void)
{
	struct child link, client;
	struct child *set[] = {&link, &client};

	CHECK_INT(start_shell("exit 1", &link), 0);
	CHECK_INT(start_shell("exec sleep 30", &client), 0);
	CHECK_INT(child_wait(set, 2, &client, false, clock_now() + 5 * NS_PER_S),
		CHILD_OTHER_EXITED);
	CHECK_INT(link.status, 1);
	child_free(&link);
	child_free(&client);
}

static void
test_endless_output(void)
{
	struct child child;

	CHECK_INT(start_shell("exec cat /dev/zero", &child), 0);
	CHECK_INT(wait_one(&child, false, 20 * NS_PER_S), CHILD_EXITED);
	CU_ASSERT(child.overflow);
	CHECK_INT(child.status, 128 + SIGKILL);
	child_free(&child);
}

static void
test_missing_program(void)
{
	const char *const argv[] = {"/nonexistent/probe", NULL};
	struct child_spec spec = {
		.argv = argv, .netns = -1, .pass_ns = {-1, -1}, .log = log_path};
	struct child child;
	struct err err;

	CHECK_INT(child_start(&spec, "server", &child, &err), -1);
	CHECK_TEXT(err.text, "start the server: /nonexistent/probe: No such file or directory");
	child_free(&child);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"ready, then SIGTERM", test_ready_then_term},
		{"exit before ready", test_exit_before_ready},
		{"timeout and kill", test_timeout_and_kill},
		{"other exits", test_other_exits},
		{"endless output", test_endless_output},
		{"missing program", test_missing_program},
		CU_TEST_INFO_NULL,
	};
	int fd = mkstemp(log_path), status;

	if (fd < 0)
		return 1;
	close(fd);
	status = check_main("child", tests);
	unlink(log_path);
	return status;
}
