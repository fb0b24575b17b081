/* What it takes to wake an idle core, as far as it depends on how long that has slept. */
#ifndef RUN_WAKE_H
#define RUN_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

/* How long each slept. A host polls for a while before it gives up a core that its guest left
 * idle (KVM's halt_poll_ns, 200 us at most by default), so the two may differ by much. */
#define WAKE_SOON_NS (60 * NS_PER_US)
#define WAKE_LATE_NS (250 * NS_PER_US)

struct wake {
	int64_t soon_ns, late_ns; /* medians, from one core's word to the other's hearing it */
};

/* Measure both between the first and the last core that this process may use, in some 10 ms. */
int wake_measure(struct wake *wake, struct err *err);

/* Is it a step, and so high that what a link of half a millisecond takes by itself jumps with
 * its delay? Then it cannot be taken out of that. */
bool wake_steps(const struct wake *wake);

#endif
