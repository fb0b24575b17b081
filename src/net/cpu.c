/* Pinning to the cores that this process is allowed. */
#include "net/cpu.h"

#include <sched.h>
#include <sys/resource.h>

/* The allowed core number `index` (from 0), or -1. */
static int
allowed_core(const cpu_set_t *allowed, int index)
{
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET((size_t)core, allowed) && index-- == 0)
			return core;
	return -1;
}

int
cpu_range(int *first, int *last, struct err *err)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return err_sys(err, "read the allowed cores");
	*first = allowed_core(&set, 0);
	*last = allowed_core(&set, CPU_COUNT(&set) - 1);
	return 0;
}

int
cpu_pin_to(int core, struct err *err)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)core, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return err_sys(err, "pin to core %d", core);
	return 0;
}

int
cpu_pin(enum cpu_placement placement, enum cpu_half half, int *core, struct err *err)
{
	cpu_set_t set;

	*core = -1;
	if (placement == CPU_ANY)
		return 0;
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return err_sys(err, "read the allowed cores");
	if (placement == CPU_SPLIT && allowed_core(&set, 1) < 0)
		return err_set(err, "cpu=split needs two cores, and this process may use one");
	*core = allowed_core(&set, placement == CPU_SPLIT && half == CPU_SERVER);
	return cpu_pin_to(*core, err);
}

void
cpu_switches(struct cpu_switches *now)
{
	struct rusage usage = {0};

	getrusage(RUSAGE_THREAD, &usage);
	now->waits = usage.ru_nvcsw;
	now->all = usage.ru_nvcsw + usage.ru_nivcsw;
}

void
cpu_switches_add(const struct cpu_switches *before, struct cpu_switches *sum)
{
	struct cpu_switches now;

	cpu_switches(&now);
	sum->waits += now.waits - before->waits;
	sum->all += now.all - before->all;
}
