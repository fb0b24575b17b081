/* tc, run in the namespace of one end of a netem link. */
#ifndef LINK_NETEM_TC_H
#define LINK_NETEM_TC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/proc.h"
#include "link/backend.h"

/* Shape what leaves by the device of `end`; `seed` may be NULL. LINK_UNSUPPORTED when this
 * kernel or this tc can't, with what would mend it. */
int netem_tc_add(const struct link *link, enum end end, const struct impairment *path,
	const uint64_t *seed, struct err *err);

/* Take off what netem_tc_add() did. */
int netem_tc_delete(const struct link *link, enum end end, struct err *err);

/* What tc says about that device, as JSON in output->out: all that was set, and with `counters`
 * what happened. The caller frees `output`. */
int netem_tc_show(const struct link *link, enum end end, bool counters,
	struct proc_output *output, struct err *err);

/* Can this tc pass a seed on? Its help says so since iproute2 6.6 or so. */
bool netem_tc_has_seed(const struct link *link);

#endif
