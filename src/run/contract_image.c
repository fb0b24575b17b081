/* An image of the engine, each execution a container.
 *
 *     NAME-holder (link image): rttlink silent       NAME-1, NAME-2, ... (the image)
 *    +--------------------------------------+       +-------------------------------+
 *    | a network namespace with lo, on it a |       | join it, without capabilities,|
 *    | peer that never answers              |  ...  | read-only, as nobody          |
 *    +--------------------------------------+       +-------------------------------+
 *
 * A client that breaks off is executed in the holder too: we are not in its namespace. The
 * holder ends with our end of its stdin; what is left when we are gone, the sweeper removes. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "run/contract_subject.h"
#include "run/engine.h"

/* What the engine may take of its own, besides the limits of the contract. Measured with Docker
 * 20.10 on two cores, idle and with three busy loops beside: 0.3 and 0.5 s in the middle (at
 * most 1.3 s) to make, start and remove a container, 0.1 s (at most 0.3 s) from SIGTERM to its
 * end. */
#define ENGINE_NS (1 * NS_PER_S)
#define SIDECAR_NS                                                                             \
	(10 * NS_PER_S) /* for the holder, or what is executed in it, to be ready              \
			 */

static void
holder_command(const struct subject *subject, struct command *command)
{
	docker_add_run(command, subject->holder.container, subject->docker->mark);
	docker_add_own_network(command);
	command_add(command, "--interactive");
	command_add(command, "%s", subject->docker->images.link.id);
	command_add(command, "silent");
}

/* Start an rttlink that ends with our end of its stdin, and wait for its ready line. */
static int
start_held(
	struct trial *trial, const char *what, const struct command *command, struct err *err)
{
	struct child_spec spec = CHILD_SPEC;

	spec.argv = (const char *const *)command->argv;
	spec.hold_stdin = true;
	if (trial_start_as(trial, what, &spec, err) < 0)
		return -1;
	trial_await(trial, NULL, true, SIDECAR_NS);
	return trial->event == CHILD_READY ? 0 : trial_tell(trial, err);
}

static int
image_open(struct subject *subject, struct err *err)
{
	struct trial *holder = &subject->holder;
	struct command command = {0};
	int status;

	if (docker_open(&subject->docker, err) < 0 || docker_guard(subject->docker, err) < 0)
		return -1;
	holder->container = alloc_printf("%s-holder", subject->docker->name);
	holder_command(subject, &command);
	status = start_held(holder, "holder of the network", &command, err);
	command_free(&command);
	if (status < 0)
		return -1;
	snprintf(subject->holder_peer, sizeof(subject->holder_peer), "%s",
		child_ready_text(&holder->child));
	subject->peer = subject->holder_peer;
	subject->extra_ns = ENGINE_NS;
	subject->ipv6 = true; /* the engine could switch it on, or there were no holder */
	return 0;
}

static void
image_begin(struct subject *subject, const char *locale, struct trial *trial,
	struct command *command)
{
	const struct docker *docker = subject->docker;

	free(trial->container);
	trial->container = alloc_printf("%s-%u", docker->name, ++subject->executions);
	docker_add_run(command, trial->container, docker->mark);
	command_add(command, "--network");
	command_add(command, "container:%s", subject->holder.container);
	if (locale) {
		command_add(command, "--env");
		command_add(command, "LC_ALL=%s", locale);
	}
	command_add(command, "%s", subject->image.id);
}

static int
image_connect(struct subject *subject, const char *address, struct caller *caller)
{
	const char *const words[] = {engine_program(), "exec", "--interactive",
		subject->holder.container, "rttlink", "silent", "--peer", address};
	struct command command = {0};
	struct err err;
	int status;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		command_add(&command, "%s", words[i]);
	status = start_held(&caller->trial, "client that breaks off", &command, &err);
	command_free(&command);
	return status;
}

static void
image_close(struct subject *subject)
{
	struct trial *holder = &subject->holder;

	if (holder->child.pid) {
		child_end_input(&holder->child);
		trial_await(holder, NULL, false, SIDECAR_NS);
	}
	trial_free(holder);
	docker_close(subject->docker);
	image_free(&subject->image);
}

const struct subject_kind subject_image = {
	.open = image_open,
	.begin = image_begin,
	.connect = image_connect,
	.close = image_close,
};
