/* The runtimes netns and host, and the choice between all. */
#include "run/runtime.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/netns.h"
#include "run/docker.h"

static int
netns_open_place(
	const struct runtime *runtime, bool linked, struct place *place, struct err *err)
{
	*place = (struct place){.runtime = runtime, .linked = linked, .near = -1, .far = -1};
	place->near = netns_new(err);
	if (place->near < 0)
		return -1;
	place->far = linked ? netns_new(err) : dup(place->near);
	if (place->far >= 0)
		return 0;
	close(place->near);
	return -1;
}

static void
netns_close_place(struct place *place, bool clean)
{
	(void)clean;
	if (place->near >= 0)
		close(place->near);
	if (place->far >= 0)
		close(place->far);
	place->near = place->far = -1;
}

static int
host_open_place(
	const struct runtime *runtime, bool linked, struct place *place, struct err *err)
{
	*place = (struct place){.runtime = runtime, .near = -1, .far = -1};
	return linked ? err_set(err, "the runtime host has no links") : 0;
}

/* Programs of this machine: rttlink is handed both namespaces, a probe starts in its own. */
static void
begin_process(const struct place *place, enum role role, const struct cell *cell,
	struct command *command, struct child_spec *spec)
{
	const char *bin = place->runtime->bin;

	if (role == ROLE_SERVER || role == ROLE_CLIENT) {
		spec->netns = role == ROLE_SERVER ? place->far : place->near;
		if (cell->command)
			command_add(command, "%s", cell->command);
		else
			command_add(command, "%s/probe-%s", bin, cell->probe);
		return;
	}
	spec->pass_ns[0] = place->near;
	spec->pass_ns[1] = place->far;
	command_add(command, "%s/rttlink", bin);
}

static int
takes_command(const struct runtime *runtime, const struct cell *cell, struct err *err)
{
	if (!cell->image || cell->command)
		return 0;
	return err_set(err,
		"the runtime %s runs no image: (use --runtime docker, or add a command:)",
		runtime->kind->name);
}

static int
ask_rttlink(const struct runtime *runtime, const char *name, struct backends *backends,
	struct err *err)
{
	(void)name; /* it is quick enough to try all */
	return backends_ask(runtime->bin, backends, err);
}

const struct runtime_kind runtime_netns = {
	.name = "netns",
	.links = true,
	.open = netns_open_place,
	.begin = begin_process,
	.takes = takes_command,
	.close = netns_close_place,
	.ask = ask_rttlink,
};

const struct runtime_kind runtime_host = {
	.name = "host",
	.links = false,
	.open = host_open_place,
	.begin = begin_process,
	.takes = takes_command,
	.close = netns_close_place,
	.ask = ask_rttlink,
};

void
place_add_ends(const struct place *place, struct command *command)
{
	command_add(command, "--near");
	if (place->agent)
		command_add(command, "/proc/self/ns/net");
	else
		command_add(command, "/proc/self/fd/%d", CHILD_NS_FIRST);
	command_add(command, "--far");
	if (place->agent)
		command_add(command, "agent:%s", place->agent);
	else
		command_add(command, "/proc/self/fd/%d", CHILD_NS_FIRST + 1);
}

/* Has the matrix a cell that only a program of this machine can run? */
static const struct cell *
bound_cell(const struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		if (matrix->cells[i].command && !matrix->cells[i].image)
			return &matrix->cells[i];
	return NULL;
}

/* Docker, if it is asked for or, for "auto", there and fit for all cells; -1 with the reason.
 */
static int
choose_docker(bool any, const struct matrix *matrix, struct runtime *runtime, struct err *why,
	struct err *err)
{
	const struct cell *bound = any ? bound_cell(matrix) : NULL;

	if (bound)
		return err_set(err, "%s has a command: of this machine", bound->probe);
	if (docker_open(&runtime->docker, err) < 0)
		return -1;
	runtime->kind = &runtime_docker;
	if (any)
		err_set(why, "runtime docker: engine %s answers and has the images",
			runtime->docker->version);
	else
		err_set(why, "runtime docker: as asked, engine %s", runtime->docker->version);
	return 0;
}

int
runtime_choose(const char *name, const struct matrix *matrix, const char *bin,
	struct runtime *runtime, struct err *why, struct err *err)
{
	bool any = !strcmp(name, "auto"), entered;
	struct err no_docker, no_netns;

	*runtime = (struct runtime){.kind = &runtime_host, .bin = bin, .link = "none"};
	if (!strcmp(name, "host")) {
		err_set(why, "runtime host: as asked");
		return 0;
	}
	if (any || !strcmp(name, "docker")) {
		if (choose_docker(any, matrix, runtime, why, &no_docker) == 0)
			return 0;
		if (!any)
			return err_set(err, "runtime docker: %s", no_docker.text);
	}
	if (netns_prepare(&entered, &no_netns) == 0) {
		runtime->kind = &runtime_netns;
		if (any)
			err_set(why, "runtime netns: network namespaces; not docker, since %s",
				no_docker.text);
		else
			err_set(why, "runtime netns: as asked");
		return 0;
	}
	if (!any)
		return err_set(err, "%s", no_netns.text);
	err_set(why, "runtime host: %s", no_netns.text);
	return 0;
}

void
runtime_free(struct runtime *runtime)
{
	docker_close(runtime->docker);
	*runtime = (struct runtime){0};
}
