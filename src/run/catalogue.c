/* Reads what each probe says of itself and checks options against it. */
#include "run/catalogue.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"

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
	free(probe->name);
	free(probe->path);
	*probe = (struct probe_desc){0};
}

int
catalogue_ask(const char *path, const char *name, struct probe_desc *probe, struct err *err)
{
	const char *const argv[] = {path, "describe", NULL};
	struct proc_output output = {0};
	char *reason = NULL;
	int status = -1;

	if (proc_capture(argv, clock_now() + DESCRIBE_DEADLINE_NS, &output, err) < 0)
		goto out;
	reason = proc_last_line(&output.err);
	if (output.timed_out)
		err_set(err, "%s describe: no answer within 5 s", path);
	else if (output.exit_status)
		err_set(err, "%s describe: exit %d: %s", path, output.exit_status, reason);
	else
		status = catalogue_parse(name, buf_text(&output.out), probe, err);
	if (!status)
		probe->path = alloc_text(path);
out:
	free(reason);
	proc_output_free(&output);
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
