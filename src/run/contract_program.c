/* A program of this machine, on the loopback of a network namespace of its own where the
 * machine can make one. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/netns.h"
#include "run/contract.h"
#include "run/contract_subject.h"

/* So that nobody else is there to talk to. Without, the checks still hold: every port is the
 * kernel's choice. */
static int
isolate(struct err *err)
{
	bool entered;
	struct err why;
	int ns, status;

	if (netns_prepare(&entered, &why) < 0)
		return 0;
	ns = netns_new(err);
	status = ns < 0 ? -1 : netns_enter(ns, err);
	if (ns >= 0)
		close(ns);
	return status;
}

static bool
have_ipv6(void)
{
	struct sockaddr_in6 addr = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool have = fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0;

	if (fd >= 0)
		close(fd);
	return have;
}

static int
program_open(struct subject *subject, struct err *err)
{
	/* execvp() would look a bare name up in PATH. */
	subject->path = alloc_printf(
		"%s%s", strchr(subject->name, '/') ? "" : "./", subject->name);
	if (isolate(err) < 0 || silent_open(&subject->silent, err) < 0)
		return -1;
	subject->peer = subject->silent.addr;
	subject->ipv6 = have_ipv6();
	child_adopt_strays();
	return 0;
}

static void
program_begin(struct subject *subject, const char *locale, struct trial *trial,
	struct command *command)
{
	(void)trial;
	if (locale) {
		command_add(command, "env");
		command_add(command, "LC_ALL=%s", locale);
	}
	command_add(command, "%s", subject->path);
}

static int
program_connect(struct subject *subject, const char *address, struct caller *caller)
{
	(void)subject;
	caller->fd = contract_connect(address);
	return caller->fd < 0 ? -1 : 0;
}

static void
program_close(struct subject *subject)
{
	silent_close(&subject->silent);
	free(subject->path);
}

const struct subject_kind subject_program = {
	.open = program_open,
	.begin = program_begin,
	.connect = program_connect,
	.end_rest = child_end_strays,
	.close = program_close,
};
