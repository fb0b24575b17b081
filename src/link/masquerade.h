/* Source NAT: what comes from one address leaves a namespace under the namespace's own. */
#ifndef LINK_MASQUERADE_H
#define LINK_MASQUERADE_H

#include "base/err.h"
#include "link/ends.h"
#include "link/space.h"

/* In `space`, have whatever `near` sends on through it carry the address of the device by which
 * it leaves, and the replies find back. Lasts until the descriptor that is returned is closed,
 * however that comes about. -1 on failure, LINK_UNSUPPORTED when the kernel can't. */
int masquerade_open(const struct space *space, const struct end_address *near, struct err *err);

#endif
