/* Speaks with the container engine, and removes what a run left in it. */
#include "run/engine.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"
#include "run/mark.h"

#define ANSWER_NS (20 * NS_PER_S) /* it may be busy with the containers of other cells */
#define WORDS_MAX 32

const char *
engine_program(void)
{
	const char *program = getenv("DOCKER");

	return program && *program ? program : "docker";
}

char *
engine_reason(const struct buf *text)
{
	struct buf kept = {0};
	const char *line = buf_text(text);
	char *reason;

	while (*line) {
		size_t len = strcspn(line, "\n");

		if (!memmem(line, len, "--help", strlen("--help")))
			buf_printf(&kept, "%.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
	reason = proc_last_line(&kept);
	buf_free(&kept);
	return reason;
}

int
engine_run(const char *const arguments[], struct buf *out, struct err *err)
{
	const char *argv[WORDS_MAX + 2] = {engine_program()};
	struct proc_output output = {0};
	int status = -1;

	for (size_t i = 0; i < WORDS_MAX && arguments[i]; i++)
		argv[i + 1] = arguments[i];
	if (proc_capture(argv, clock_now() + ANSWER_NS, &output, err) < 0)
		goto out;
	if (output.timed_out) {
		err_set(err, "%s %s: no answer within 20 s", argv[0], argv[1]);
		errno = 0;
	} else if (output.exit_status) {
		char *reason = engine_reason(&output.err);

		err_set(err, "%s %s: %s", argv[0], argv[1], reason);
		free(reason);
		errno = 0;
	} else {
		status = 0;
		if (out)
			buf_add(out, buf_text(&output.out), output.out.len);
	}
out:
	proc_output_free(&output);
	return status;
}

/* podman has no server to ask. */
static bool
is_podman(void)
{
	const char *slash = strrchr(engine_program(), '/');

	return !strncmp(slash ? slash + 1 : engine_program(), "podman", strlen("podman"));
}

int
engine_version(struct buf *out, struct err *err)
{
	const char *const docker[] = {"version", "--format", "{{.Server.Version}}", NULL};
	const char *const podman[] = {"info", "--format", "{{.Version.Version}}", NULL};

	if (engine_run(is_podman() ? podman : docker, out, err) < 0) {
		if (errno == ENOENT)
			return err_set(err,
				"there is no %s here ('sudo apt-get install docker.io')",
				engine_program());
		return err_prefix(err, "no container engine answers");
	}
	if (out->len && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
	return 0;
}

/* A kind of thing that can be left behind: how it is listed, as "ID MARK", and removed. */
static const struct leftover {
	const char *what;
	const char *list[8];
	const char *remove[5]; /* the ID goes behind */
} leftovers[] = {
	{"container",
		{"ps", "--all", "--filter", "label=" ENGINE_LABEL, "--format",
			"{{.ID}} {{.Label \"" ENGINE_LABEL "\"}}"},
		{"rm", "--force", "--volumes"}},
	{"volume",
		{"volume", "ls", "--filter", "label=" ENGINE_LABEL, "--format",
			"{{.Name}} {{.Label \"" ENGINE_LABEL "\"}}"},
		{"volume", "rm", "--force"}},
	{"network",
		{"network", "ls", "--filter", "label=" ENGINE_LABEL, "--format",
			"{{.ID}} {{.Label \"" ENGINE_LABEL "\"}}"},
		{"network", "rm"}},
};

static void
remove_one(const struct leftover *leftover, const char *id, FILE *out)
{
	const char *arguments[8] = {NULL};
	size_t count = 0;

	while (leftover->remove[count]) {
		arguments[count] = leftover->remove[count];
		count++;
	}
	arguments[count] = id;
	/* Others may be at it, too: that one does not succeed is no fault. */
	if (engine_run(arguments, NULL, NULL) == 0 && out)
		fprintf(out, "removed %s %s of a run that is gone\n", leftover->what, id);
}

/* One line of a list; splits it in place. */
static void
judge(const struct leftover *leftover, char *line, const char *mark, FILE *out)
{
	char *found = strchr(line, ' ');

	if (!found)
		return;
	*found++ = '\0';
	if (mark ? !strcmp(found, mark) : mark_state(found) == MARK_DEAD)
		remove_one(leftover, line, out);
}

int
engine_sweep(const char *mark, FILE *out, struct err *err)
{
	for (size_t i = 0; i < sizeof(leftovers) / sizeof(leftovers[0]); i++) {
		struct buf list = {0};
		char *line, *rest = NULL;

		if (engine_run(leftovers[i].list, &list, err) < 0) {
			buf_free(&list);
			return -1;
		}
		line = list.len ? strtok_r(list.data, "\n", &rest) : NULL;
		for (; line; line = strtok_r(NULL, "\n", &rest))
			judge(&leftovers[i], line, mark, out);
		buf_free(&list);
	}
	return 0;
}
