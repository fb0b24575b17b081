/* Tells what a name stands for, and hangs up. */
#include "run/contract_subject.h"

#include <ctype.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/engine.h"

/* Every name of an image begins so, and no option of the engine does. */
static int
find_image(const char *name, struct image *image, struct err *err)
{
	struct buf version = {0};
	int status;

	if (!isalnum((unsigned char)*name))
		return err_set(
			err, "'%s' is not an executable file, nor the name of an image", name);
	status = engine_version(&version, err);
	buf_free(&version);
	if (status == 0)
		status = image_find(name, image, err);
	if (status < 0)
		err_prefix(err, "'%s' is not an executable file, nor an image here", name);
	return status;
}

int
subject_find(struct subject *subject, const char *name, struct err *err)
{
	struct stat st;

	*subject = (struct subject){
		.kind = &subject_program,
		.name = name,
		.silent = {-1, -1, ""},
		.holder = TRIAL_INIT,
	};
	if (stat(name, &st) < 0 || !S_ISREG(st.st_mode)) {
		subject->kind = &subject_image;
		return find_image(name, &subject->image, err);
	}
	if (access(name, X_OK) < 0)
		return err_set(err, "'%s' is not an executable file", name);
	return 0;
}

void
caller_break_off(struct caller *caller, int64_t limit_ns)
{
	struct linger reset = {1, 0};

	if (caller->fd >= 0) {
		setsockopt(caller->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(caller->fd);
	}
	if (caller->trial.child.pid) {
		child_end_input(&caller->trial.child);
		trial_await(&caller->trial, NULL, false, limit_ns);
	}
	trial_free(&caller->trial);
	*caller = (struct caller)CALLER_INIT;
}
