/* The runtime docker.
 *
 *     NAME-near (link image)                       NAME-far (link image)
 *    +--------------------------+                 +--------------------------+
 *    | rttlink up  == TUN or ===|= descriptors ===|= rttlink agent           |
 *    |                veth      |  over a volume  |                          |
 *    +--------------------------+                 +--------------------------+
 *    | NAME-client joins its    |                 | NAME-server joins its    |
 *    | network namespace        |                 | network namespace        |
 *    +--------------------------+                 +--------------------------+
 *
 * No container has a network of the engine's: --network none and the link is all there is. So
 * there is no address pool to exhaust, no bridge in the path, and both backends work as they do
 * between namespaces. A loopback cell is NAME-server, whose namespace NAME-client joins.
 *
 * A container is a child of ours through `docker run`, attached: it passes SIGTERM on, streams
 * records and ends with the probe's status. Should `docker run` be killed, its container is
 * removed by its name when the place is closed, and by its label when the runner is gone:
 * a sweeper waits for that in a session of its own. */
#include "run/docker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "run/engine.h"
#include "run/link_trial.h"
#include "run/mark.h"
#include "run/runtime.h"

#define TURN_LABEL "rttmatrix.turn" /* its value: what the names of the turn's begin with */
#define NOBODY 65534                /* user and group of the probes: nobody's */
#define NOFILE_MAX 65536
#define CPU_SHARES_MAX 262144 /* the kernel's MAX_SHARES */
#define SHARED "/run/rttlink" /* where the sidecars see the volume */
#define SWEEPS 3              /* the engine may still be starting what it was asked for */
#define SWEEP_GAP_NS NS_PER_S

/* --- the run */

/* "rttmatrix-PID-START" of this process: the first half of its mark. */
static char *
run_name(const char *mark)
{
	size_t pid = strcspn(mark, ":");
	size_t start = strcspn(mark + pid + 1, ":");

	return alloc_printf("rttmatrix-%.*s-%.*s", (int)pid, mark, (int)start, mark + pid + 1);
}

int
docker_open(struct docker **opened, struct err *err)
{
	struct docker *docker = alloc_zero(1, sizeof(*docker));
	struct buf version = {0};

	docker->sweeper_fd = -1;
	if (engine_version(&version, err) < 0 || images_find(&docker->images, err) < 0) {
		buf_free(&version);
		free(docker);
		return -1;
	}
	docker->version = alloc_text(buf_text(&version));
	docker->mark = mark_make();
	docker->name = run_name(docker->mark);
	buf_free(&version);
	*opened = docker;
	return 0;
}

/* In the sweeper: nobody but the runner's end ends it. */
static void
detach(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
}

/* Wait for a word of the runner, or for its death. */
static void
sweep_when_dead(const char *mark, int pipe)
{
	char word;

	detach();
	if (read(pipe, &word, 1) == 1)
		return;
	for (int i = 0; i < SWEEPS; i++) {
		engine_sweep(mark, NULL, NULL);
		clock_sleep_until(clock_now() + SWEEP_GAP_NS);
	}
}

static int
make_volume(const struct docker *docker, struct err *err)
{
	char *label = alloc_printf(ENGINE_LABEL "=%s", docker->mark);
	const char *const arguments[] = {
		"volume", "create", "--label", label, docker->name, NULL};
	int status = engine_run(arguments, NULL, err);

	free(label);
	return status;
}

int
docker_guard(struct docker *docker, struct err *err)
{
	int ends[2];

	if (engine_sweep(NULL, stderr, err) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "watch over containers");
	docker->sweeper = fork();
	if (docker->sweeper == 0) {
		close(ends[1]);
		sweep_when_dead(docker->mark, ends[0]);
		_exit(0);
	}
	close(ends[0]);
	docker->sweeper_fd = ends[1];
	if (docker->sweeper < 0)
		return err_sys(err, "watch over containers");
	return make_volume(docker, err);
}

void
docker_close(struct docker *docker)
{
	if (!docker)
		return;
	if (docker->sweeper_fd >= 0) {
		engine_sweep(docker->mark, NULL, NULL);
		(void)!write(docker->sweeper_fd, "", 1);
		close(docker->sweeper_fd);
	}
	if (docker->sweeper > 0)
		waitpid((pid_t)docker->sweeper, NULL, 0);
	images_free(&docker->images);
	free(docker->version);
	free(docker->mark);
	free(docker->name);
	free(docker);
}

/* In the middle of a run. */
static int
answers(struct err *err)
{
	struct buf version = {0};
	int status = engine_version(&version, err);

	buf_free(&version);
	return status < 0 ? err_prefix(err, "finished turns are kept (go on with --resume)")
			  : 0;
}

/* --- one turn */

static int
open_place(const struct runtime *runtime, bool linked, struct place *place, struct err *err)
{
	*place = (struct place){.runtime = runtime, .linked = linked, .near = -1, .far = -1};
	place->name = alloc_printf("%s-%ld", runtime->docker->name, (long)getpid());
	if (linked)
		place->agent = alloc_printf(SHARED "/%ld", (long)getpid());
	(void)err;
	return 0;
}

/* docker run …, as far as all containers are alike. */
static void
add_run(struct command *command, const char *name, const char *mark)
{
	static const char *const words[] = {"--rm", "--pull", "never", "--log-driver", "none",
		"--cap-drop", "ALL", "--read-only", "--security-opt", "no-new-privileges",
		NULL};
	char *own = mark ? NULL : mark_make();

	command_add(command, "%s", engine_program());
	command_add(command, "run");
	command_add_words(command, words);
	if (name) {
		command_add(command, "--name");
		command_add(command, "%s", name);
	}
	command_add(command, "--label");
	command_add(command, ENGINE_LABEL "=%s", mark ? mark : own);
	free(own);
}

void
docker_add_run(struct command *command, const char *name, const char *mark)
{
	struct rlimit limit;
	long nofile;

	getrlimit(RLIMIT_NOFILE, &limit);
	nofile = limit.rlim_max < NOFILE_MAX ? (long)limit.rlim_max : NOFILE_MAX;
	add_run(command, name, mark);
	command_add(command, "--user");
	command_add(command, "%d:%d", NOBODY, NOBODY);
	command_add(command, "--ulimit");
	command_add(command, "nofile=%ld:%ld", nofile, nofile);
}

static void
add_turn(const struct place *place, struct command *command)
{
	command_add(command, "--label");
	command_add(command, TURN_LABEL "=%s", place->name);
}

void
docker_add_own_network(struct command *command)
{
	/* The engine switches IPv6 off in it, since it gave it no network. */
	static const char *const words[] = {"--network", "none", "--sysctl",
		"net.ipv6.conf.all.disable_ipv6=0", "--sysctl",
		"net.ipv6.conf.default.disable_ipv6=0", NULL};

	command_add_words(command, words);
}

/* What makes a link needs CAP_NET_ADMIN. The emulator needs to wake on time: CAP_SYS_NICE for
 * SCHED_FIFO and, where a container's group may have none of that (cgroup v1 with
 * CONFIG_RT_GROUP_SCHED), the greatest weight among the groups of its core. Its stdin stays
 * open as long as we hold it: it ends when we do. */
static void
begin_sidecar(const struct place *place, enum role role, struct command *command,
	struct child_spec *spec)
{
	const struct docker *docker = place->runtime->docker;

	char *name = alloc_printf("%s-%s", place->name, role == ROLE_AGENT ? "far" : "near");

	add_run(command, name, docker->mark);
	free(name);
	add_turn(place, command);
	docker_add_own_network(command);
	command_add(command, "--interactive");
	command_add(command, "--cap-add");
	command_add(command, "NET_ADMIN");
	if (!strcmp(place->runtime->link, "tun")) {
		command_add(command, "--cap-add");
		command_add(command, "SYS_NICE");
		command_add(command, "--cpu-shares");
		command_add(command, "%d", CPU_SHARES_MAX);
		command_add(command, "--device");
		command_add(command, "/dev/net/tun");
	}
	command_add(command, "--mount");
	command_add(command, "type=volume,src=%s,dst=" SHARED, docker->name);
	command_add(command, "%s", docker->images.link.id);
	spec->hold_stdin = true;
}

static void
begin_check(const struct place *place, struct command *command)
{
	command_add(command, "%s", engine_program());
	command_add(command, "exec");
	command_add(command, "%s-near", place->name);
	command_add(command, "rttlink");
}

static void
add_network(const struct place *place, enum role role, struct command *command)
{
	if (!place->linked && role == ROLE_SERVER) {
		docker_add_own_network(command);
		return;
	}
	command_add(command, "--network");
	command_add(command, "container:%s-%s", place->name,
		!place->linked        ? "server"
		: role == ROLE_SERVER ? "far"
				      : "near");
}

static void
begin_probe(const struct place *place, enum role role, const struct cell *cell,
	struct command *command)
{
	const struct docker *docker = place->runtime->docker;

	char *name = alloc_printf(
		"%s-%s", place->name, role == ROLE_SERVER ? "server" : "client");

	docker_add_run(command, name, docker->mark);
	free(name);
	add_turn(place, command);
	add_network(place, role, command);
	if (cell->image) {
		command_add(command, "%s", cell->image);
		return;
	}
	command_add(command, "--entrypoint");
	command_add(command, "/probe-%s", cell->probe);
	command_add(command, "%s", docker->images.probes.id);
}

static void
begin(const struct place *place, enum role role, const struct cell *cell,
	struct command *command, struct child_spec *spec)
{
	switch (role) {
	case ROLE_AGENT:
	case ROLE_LINK:
		begin_sidecar(place, role, command, spec);
		break;
	case ROLE_CHECK:
		begin_check(place, command);
		break;
	default:
		begin_probe(place, role, cell, command);
	}
}

static int
takes(const struct runtime *runtime, const struct cell *cell, struct err *err)
{
	struct image image;

	(void)runtime;
	if (cell->profile->trace)
		return err_set(err,
			"a trace: is a file of this machine, which containers do not see (use --runtime netns)");
	if (cell->command && !cell->image)
		return err_set(err,
			"a command: is a program of this machine (use --runtime netns, or add an image:)");
	if (!cell->image)
		return 0;
	if (image_find(cell->image, &image, err) < 0)
		return -1;
	image_free(&image);
	return 0;
}

/* By label, not by name: one of these names may have been taken by somebody else. */
static void
remove_containers(const char *name)
{
	char *filter = alloc_printf("label=" TURN_LABEL "=%s", name);
	const char *const list[] = {"ps", "--all", "--quiet", "--filter", filter, NULL};
	struct buf ids = {0};
	char *id, *rest = NULL;

	engine_run(list, &ids, NULL);
	id = ids.len ? strtok_r(ids.data, "\n", &rest) : NULL;
	for (; id; id = strtok_r(NULL, "\n", &rest)) {
		const char *const remove[] = {"rm", "--force", "--volumes", id, NULL};

		engine_run(remove, NULL, NULL);
	}
	buf_free(&ids);
	free(filter);
}

/* After a clean end `docker run --rm` has removed all. */
static void
close_place(struct place *place, bool clean)
{
	if (place->name && !clean)
		remove_containers(place->name);
	free(place->name);
	free(place->agent);
	*place = (struct place){.near = -1, .far = -1};
}

static int
ask(const struct runtime *runtime, const char *name, struct backends *backends, struct err *err)
{
	bool any = !strcmp(name, "auto");

	*backends = (struct backends){
		.netem.reason = "not tried",
		.tun.reason = "not tried",
	};
	if ((any || !strcmp(name, "netem")) &&
		link_trial(runtime, "netem", &backends->netem, err) < 0)
		return -1;
	if ((any && !backends->netem.works) || !strcmp(name, "tun"))
		return link_trial(runtime, "tun", &backends->tun, err);
	return 0;
}

const struct runtime_kind runtime_docker = {
	.name = "docker",
	.links = true,
	.agents = true,
	.turn_ns = 700 * NS_PER_MS,
	.open = open_place,
	.begin = begin,
	.takes = takes,
	.answers = answers,
	.close = close_place,
	.ask = ask,
};
