/* What the backends share. */
#include "link/backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/netns.h"
#include "base/proc.h"

void
link_info(const struct link *link, const char *name, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	link->info(name, text);
}

static void
print_nothing(const char *name, const char *text)
{
	(void)name;
	(void)text;
}

/* In a child: build a link with this backend between two namespaces made for it. */
static int
build(const struct backend *backend, struct err *err)
{
	struct profile profile = {.path = {{.delay_ns = NS_PER_MS}, {.delay_ns = NS_PER_MS}}};
	struct link link = {
		.backend = backend,
		.profile = &profile,
		.ends = end_addresses,
		.info = print_nothing,
	};
	bool entered;
	int status;

	if (netns_prepare(&entered, err) < 0)
		return LINK_UNSUPPORTED;
	for (enum end end = NEAR; end < ENDS; end++) {
		link.space[end].ns = netns_new(err);
		if (link.space[end].ns < 0)
			return LINK_UNSUPPORTED;
	}
	status = backend->open(&link, err);
	if (status == 0)
		backend->close(&link);
	return status;
}

int
backend_try(const struct backend *backend, struct err *err)
{
	pid_t parent = getpid(), child;
	int ends[2], status = 0;

	if (pipe(ends) < 0)
		return err_sys(err, "try %s", backend->name);
	child = fork();
	if (child == 0) {
		proc_die_with_parent(parent);
		status = build(backend, err);
		if (status)
			(void)!write(ends[1], err->text, sizeof(err->text));
		_exit(status != 0);
	}
	close(ends[1]);
	*err = (struct err){"it ended without a word"};
	if (child < 0)
		status = err_sys(err, "try %s", backend->name);
	(void)!read(ends[0], err->text, sizeof(err->text));
	close(ends[0]);
	if (child > 0 && waitpid(child, &status, 0) < 0)
		status = -1;
	return status;
}
