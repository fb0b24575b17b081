/* What both halves of every probe do: announce, pin, print samples. */
#include "probe/probe.h"

#include <errno.h>
#include <sys/resource.h>

void
probe_ready(const struct addr *bound)
{
	char text[ADDR_TEXT_SIZE];

	addr_format(bound, text);
	printf("ready %s\n", text);
	fflush(stdout);
}

void
probe_samples(const char *name, const int64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		record_sample(stdout, name, RECORD_NS, values[i]);
}

int
probe_not_listening(const struct probe_call *call)
{
	bool no_address = errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT;

	return no_address && addr_family(&call->addr) == AF_INET6 ? PROBE_UNSUPPORTED : -1;
}

void
probe_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int
placement_check(const struct placement *placement, struct err *err)
{
	if (placement->wait == WAIT_SPIN && placement->cpu == CPU_SAME)
		return err_set(err, "wait=spin needs a core for each half: not with cpu=same");
	return 0;
}

int
placement_apply(const struct placement *placement, enum cpu_half half, struct err *err)
{
	int core;

	if (cpu_pin((enum cpu_placement)placement->cpu, half, &core, err) < 0)
		return PROBE_UNSUPPORTED;
	if (core >= 0)
		record_info(stdout, "core", "%d", core);
	return 0;
}
