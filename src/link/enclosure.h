/* A network namespace whose only way out is a link:
 *
 *   enclosed namespace                          outside
 *   default route -> link0 ====== link ====== linkN -> forwarding, masquerading -> …
 *
 * Outside is the caller's own namespace wherever that may be changed: for root, and for whoever
 * is inside an enclosure already, so that links can be put one behind the other. A user may not
 * change the namespace everybody is in: for a user, outside is a fresh namespace that leads
 * nowhere. */
#ifndef LINK_ENCLOSURE_H
#define LINK_ENCLOSURE_H

#include <stdbool.h>

#include "base/err.h"
#include "link/backend.h"

struct enclosure {
	struct link link; /* backend, profile, seed, info: the caller's; the rest ours */
	struct end_address ends[ENDS];
	bool is_open;
	bool outside_is_ours; /* the far end is in the caller's namespace */
	int masquerade;       /* descriptor that holds it, or -1 */
};

/* Make the namespaces, if need be in a user namespace that this process enters for good.
 * Single-threaded callers only. After a failure close it all the same, as ever after. */
int enclosure_prepare(struct enclosure *enclosure, struct err *err);

/* Make the link, and with `beyond` the way on from its far end. May change this process's
 * network namespace. -1, or LINK_UNSUPPORTED when this machine can't. */
int enclosure_open(struct enclosure *enclosure, bool beyond, struct err *err);

void enclosure_close(struct enclosure *enclosure);

#endif
