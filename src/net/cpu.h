/* Which core something runs on. */
#ifndef NET_CPU_H
#define NET_CPU_H

#include <stdint.h>

#include "base/err.h"

/* In the order of the option `cpu=any|same|split`. */
enum cpu_placement {
	CPU_ANY,   /* wherever the scheduler likes */
	CPU_SAME,  /* both halves on the first core this process may use */
	CPU_SPLIT, /* the client on the first, the server on the second */
};

enum cpu_half { CPU_CLIENT, CPU_SERVER };

/* The first and the last core this thread may use. */
int cpu_range(int *first, int *last, struct err *err);

/* Pin the calling thread to one core. */
int cpu_pin_to(int core, struct err *err);

/* Pin the calling thread. *core is the core, -1 for CPU_ANY. -1 when there is no second core.
 */
int cpu_pin(enum cpu_placement placement, enum cpu_half half, int *core, struct err *err);

/* How often the calling thread left its core: to wait for something, and in all, that is, also
 * because another was to run. */
struct cpu_switches {
	int64_t waits, all;
};

void cpu_switches(struct cpu_switches *now);

/* What came since *before is added to *sum. */
void cpu_switches_add(const struct cpu_switches *before, struct cpu_switches *sum);

#endif
