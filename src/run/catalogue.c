/* Reads what each probe says of itself and checks options against it. */
#include "run/catalogue.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"
#include "run/command.h"
#include "run/docker.h"
#include "run/engine.h"

#define PREFIX "probe-"
#define DESCRIBE_DEADLINE_NS (5 * NS_PER_S)

void
probe_desc_free(struct probe_desc *probe)
{
	for (size_t i = 0; i < probe->option_count; i++) {
		/* They are ours: struct opt has const strings for tables in the code. */
		free((void *)(uintptr_t)probe->options[i].name);
		free((void *)(uintptr_t)probe->options[i].choices);
		free((void *)(uintptr_t)probe->options[i].default_text);
		free((void *)(uintptr_t)probe->options[i].help);
	}
	for (size_t i = 0; i < probe->metric_count; i++) {
		free(probe->metrics[i].name);
		free(probe->metrics[i].help);
	}
	free(probe->options);
	free(probe->metrics);
	free(probe->loopback);
	free(probe->name);
	free(probe->path);
	*probe = (struct probe_desc){0};
}

/* `what` is for messages. */
static int
ask(const char *const argv[], const char *what, const char *name, struct probe_desc *probe,
	struct err *err)
{
	struct proc_output output = {0};
	char *reason = NULL;
	int status = -1;

	if (proc_capture(argv, clock_now() + DESCRIBE_DEADLINE_NS, &output, err) < 0)
		goto out;
	reason = engine_reason(&output.err);
	if (output.timed_out)
		err_set(err, "%s describe: no answer within 5 s", what);
	else if (output.exit_status)
		err_set(err, "%s describe: exit %d: %s", what, output.exit_status, reason);
	else
		status = catalogue_parse(name, buf_text(&output.out), probe, err);
	if (!status)
		probe->path = alloc_text(what);
out:
	free(reason);
	proc_output_free(&output);
	return status;
}

int
catalogue_ask(const char *path, const char *name, struct probe_desc *probe, struct err *err)
{
	const char *const argv[] = {path, "describe", NULL};

	return ask(argv, path, name, probe, err);
}

int
catalogue_ask_image(
	const char *image, const char *name, struct probe_desc *probe, struct err *err)
{
	struct command command = {0};
	int status;

	docker_add_run(&command, NULL, NULL);
	command_add(&command, "--network");
	command_add(&command, "none");
	command_add(&command, "%s", image);
	command_add(&command, "describe");
	status = ask((const char *const *)command.argv, image, name, probe, err);
	if (status == 0)
		probe->checks = false; /* a container for each variant would take long */
	command_free(&command);
	return status;
}

int
probe_desc_check_all(const struct probe_desc *probe, int64_t samples,
	const char *const options[], struct err *err)
{
	struct proc_output output = {0};
	struct command command = {0};
	int status = -1;

	if (!probe->checks || !probe->path)
		return 0;
	command_add(&command, "%s", probe->path);
	command_add(&command, "check");
	command_add(&command, "--samples");
	command_add(&command, "%" PRId64, samples);
	for (; *options; options++)
		command_add(&command, "%s", *options);
	if (proc_capture((const char *const *)command.argv, clock_now() + DESCRIBE_DEADLINE_NS,
		    &output, err) == 0) {
		char *reason = engine_reason(&output.err);

		status = output.exit_status ? err_set(err, "%s", reason) : 0;
		free(reason);
	}
	proc_output_free(&output);
	command_free(&command);
	return status;
}

static int
is_probe(const struct dirent *entry)
{
	return !strncmp(entry->d_name, PREFIX, strlen(PREFIX)) &&
	       entry->d_name[strlen(PREFIX)] && !strchr(entry->d_name, '.');
}

int
catalogue_load(const char *folder, struct catalogue *catalogue, struct err *err)
{
	struct dirent **names = NULL;
	int count, status = 0;

	*catalogue = (struct catalogue){.ask_commands = true};
	count = scandir(folder, &names, is_probe, alphasort);
	if (count < 0)
		return err_sys(err, "read folder %s", folder);
	catalogue->probes = alloc_zero((size_t)count, sizeof(*catalogue->probes));
	for (int i = 0; i < count && !status; i++) {
		char *path = alloc_printf("%s/%s", folder, names[i]->d_name);

		if (access(path, X_OK) == 0) {
			status = catalogue_ask(path, names[i]->d_name + strlen(PREFIX),
				&catalogue->probes[catalogue->count], err);
			catalogue->count += !status;
		}
		free(path);
	}
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	if (status)
		catalogue_free(catalogue);
	return status;
}

const struct probe_desc *
catalogue_find(const struct catalogue *catalogue, const char *name)
{
	for (size_t i = 0; i < catalogue->count; i++)
		if (!strcmp(catalogue->probes[i].name, name))
			return &catalogue->probes[i];
	return NULL;
}

/* Room for the value of any one option: checking needs a place to put it. */
union scratch {
	bool flag;
	const char *text;
	int64_t number;
	int choice;
};

int
probe_desc_check(
	const struct probe_desc *probe, const char *name, const char *value, struct err *err)
{
	union scratch scratch;

	return opts_set(probe->options, &scratch, name, value, err);
}

void
catalogue_free(struct catalogue *catalogue)
{
	for (size_t i = 0; i < catalogue->count; i++)
		probe_desc_free(&catalogue->probes[i]);
	free(catalogue->probes);
	*catalogue = (struct catalogue){0};
}
