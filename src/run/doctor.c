/* rttmatrix doctor: tries every runtime and link backend and says how to mend what fails. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/netns.h"
#include "run/backends.h"
#include "run/docker.h"
#include "run/run.h"

static void
line(FILE *out, const char *what, bool works, const char *text)
{
	fprintf(out, "%-15s %-4s %s\n", what, works ? "ok" : "no", text);
}

/* Also puts us where namespaces can be made, so that the backends are tried there. */
static bool
check_netns(FILE *out)
{
	struct err err;
	bool entered, works = netns_prepare(&entered, &err) == 0;

	if (!works)
		line(out, "runtime netns", false, err.text);
	else
		line(out, "runtime netns", true,
			entered ? "without root, in a user namespace"
				: "with the privileges this user has");
	line(out, "runtime host", true, "loopback cells only");
	return works;
}

static void
check_docker(FILE *out)
{
	struct docker *docker;
	struct err err;

	if (docker_open(&docker, &err) < 0) {
		line(out, "runtime docker", false, err.text);
		return;
	}
	line(out, "runtime docker", true, docker->version);
	docker_close(docker);
}

static void
check_cores(FILE *out)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	line(out, "cores", cores >= 2,
		cores >= 2 ? "two or more: client, server and emulator share them"
			   : "one: client, server and emulator disturb each other, figures "
			     "will be coarse");
}

bool
run_doctor(const char *bin, FILE *out, struct err *err)
{
	struct backends backends;
	bool netns, links;

	check_docker(out); /* as the user we are, ahead of any user namespace */
	netns = check_netns(out);
	if (backends_ask(bin, &backends, err) < 0) {
		line(out, "link", false, err->text);
		return false;
	}
	line(out, "link netem", backends.netem.works,
		backends.netem.works ? "the kernel's own" : backends.netem.reason);
	line(out, "link tun", backends.tun.works,
		backends.tun.works ? "our emulator" : backends.tun.reason);
	check_cores(out);
	links = backends.netem.works || backends.tun.works;
	if (netns && links)
		return true;
	err_set(err, netns ? "no link backend works" : "no network namespaces");
	return false;
}
