/* Runs a program or a container under observation. */
#include "run/trial.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/units.h"
#include "run/engine.h"

#define LOG_MAX ((size_t)1 << 20) /* of stderr; more is not looked at */

int
trial_start_as(struct trial *trial, const char *what, struct child_spec *spec, struct err *err)
{
	char *log = NULL;
	int status;

	trial->log_fd = memfd_create("stderr", MFD_CLOEXEC);
	if (trial->log_fd < 0)
		return err_sys(err, "keep the stderr of %s", what);
	log = alloc_printf("/proc/self/fd/%d", trial->log_fd);
	spec->log = log;
	trial->start_ns = clock_now();
	status = child_start(spec, what, &trial->child, err);
	free(log);
	return status;
}

int
trial_start(
	struct trial *trial, const char *what, const struct command *command, struct err *err)
{
	struct child_spec spec = CHILD_SPEC;

	spec.argv = (const char *const *)command->argv;
	return trial_start_as(trial, what, &spec, err);
}

void
trial_read_words(struct trial *trial)
{
	char *end;
	ssize_t got;

	buf_clear(&trial->err);
	end = buf_reserve(&trial->err, LOG_MAX);
	got = pread(trial->log_fd, end, LOG_MAX, 0);
	if (got <= 0)
		return;
	trial->err.len = (size_t)got;
	trial->err.data[got] = '\0';
}

void
trial_await(struct trial *trial, struct trial *other, bool ready, int64_t limit_ns)
{
	struct child *set[] = {&trial->child, other ? &other->child : NULL};

	trial->event = child_wait(
		set, other ? 2 : 1, &trial->child, ready, clock_now() + limit_ns);
	trial->took_ns = clock_now() - trial->start_ns;
	trial_read_words(trial);
}

bool
trial_stop(struct trial *trial, int64_t grace_ns)
{
	bool stopped = child_stop(&trial->child, grace_ns);

	trial->event = stopped ? CHILD_EXITED : CHILD_TIMEOUT;
	trial->took_ns = clock_now() - trial->start_ns;
	trial_read_words(trial);
	return stopped;
}

/* The engine begins its words like this; a probe may end with the same status. */
static bool
engine_spoke(const struct trial *trial)
{
	static const char *const begins[] = {"docker: ", "podman: ", "Error: "};
	const char *text = buf_text(&trial->err);

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		const char *at = strstr(text, begins[i]);

		if (at && (at == text || at[-1] == '\n'))
			return true;
	}
	return false;
}

int
trial_unstarted(const struct trial *trial)
{
	int status = trial->child.status;

	if (!trial->container || trial->event != CHILD_EXITED || status < TRIAL_ENGINE ||
		status > TRIAL_NO_PROGRAM || !engine_spoke(trial))
		return 0;
	return status;
}

static int
tell_unstarted(const struct trial *trial, int status, struct err *err)
{
	char *reason = engine_reason(&trial->err);

	err_set(err, "%s: %s",
		status == TRIAL_ENGINE    ? "the engine could not run it"
		: status == TRIAL_NO_EXEC ? "its entry point cannot be executed"
					  : "its entry point is not there",
		reason);
	free(reason);
	return -1;
}

bool
trial_ended(const struct trial *trial, int status)
{
	return trial->event == CHILD_EXITED && trial->child.status == status;
}

char *
trial_reason(const struct trial *trial)
{
	return proc_last_line(&trial->err);
}

static int
tell_end(const struct trial *trial, struct err *err)
{
	const struct child *child = &trial->child;
	int unstarted = trial_unstarted(trial);
	char *reason;

	if (unstarted)
		return tell_unstarted(trial, unstarted, err);
	reason = trial_reason(trial);
	if (child->overflow)
		err_set(err, "%s printed more than %zu MiB", child->what,
			CHILD_OUTPUT_MAX >> 20);
	else if (child->status > 128)
		err_set(err, "%s was ended by signal %d (%s)", child->what, child->status - 128,
			strsignal(child->status - 128));
	else
		err_set(err, "%s ended with %d, stderr '%s'", child->what, child->status,
			reason);
	free(reason);
	return -1;
}

int
trial_tell(const struct trial *trial, struct err *err)
{
	char took[UNITS_TEXT_SIZE];

	units_format_short(trial->took_ns, took);
	switch (trial->event) {
	case CHILD_EXITED:
		return tell_end(trial, err);
	case CHILD_OTHER_EXITED:
		return err_set(err, "serve ended while %s was at it", trial->child.what);
	case CHILD_STOPPED:
		return err_set(err, "interrupted");
	default:
		return err_set(err, "%s still there after %s", trial->child.what, took);
	}
}

/* `docker run` removes its container when that ends, but does not take it along when it is
 * killed itself. */
static void
remove_container(const struct trial *trial)
{
	const char *const arguments[] = {"rm", "--force", "--volumes", trial->container, NULL};

	if (trial->log_fd >= 0 && (trial->event != CHILD_EXITED || trial->child.overflow ||
					  trial->child.status >= TRIAL_ENGINE))
		engine_run(arguments, NULL, NULL);
}

void
trial_free(struct trial *trial)
{
	if (trial->child.pid && !trial->child.exited)
		child_stop(&trial->child, 0); /* before its container: it may still make one */
	if (trial->container)
		remove_container(trial);
	free(trial->container);
	child_free(&trial->child);
	buf_free(&trial->err);
	if (trial->log_fd >= 0)
		close(trial->log_fd);
	*trial = (struct trial)TRIAL_INIT;
}
