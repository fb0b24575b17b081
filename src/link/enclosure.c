/* Namespaces, link, routes and masquerading of an enclosure. */
#include "link/enclosure.h"

#include <sys/file.h>
#include <unistd.h>

#include "base/netns.h"
#include "link/masquerade.h"
#include "link/rtnl.h"

int
enclosure_prepare(struct enclosure *enclosure, struct err *err)
{
	struct space *space = enclosure->link.space;
	bool entered;

	enclosure->masquerade = -1;
	enclosure->link.ends = enclosure->ends;
	space[NEAR] = space[FAR] = (struct space)SPACE_NONE;
	if (netns_prepare(&entered, err) < 0)
		return LINK_UNSUPPORTED;
	/* In a user namespace made just now this is a fresh one. */
	space[FAR].ns = netns_open("/proc/self/ns/net", err);
	if (space[FAR].ns < 0)
		return -1;
	enclosure->outside_is_ours = !entered;
	space[NEAR].ns = netns_new(err);
	return space[NEAR].ns < 0 ? -1 : 0;
}

/* Number and make the link. Another one may be about to be made in the same place: one after
 * the other, or both would take the same number. The lock goes with its holder. */
static int
open_link(struct enclosure *enclosure, struct err *err)
{
	struct link *link = &enclosure->link;
	int outside = link->space[FAR].ns, status;
	unsigned number;

	if (flock(outside, LOCK_EX) < 0)
		return err_sys(err, "lock the network namespace");
	status = ends_next_number(&link->space[FAR], &number, err);
	if (status == 0) {
		ends_number(number, enclosure->ends);
		status = link->backend->open(link, err);
	}
	flock(outside, LOCK_UN);
	return status;
}

/* Whatever comes in by the link's device in `space` may go on from there. */
static int
forward(const struct link *link, enum end end, struct err *err)
{
	int rtnl = rtnl_open(&link->space[end], err), status;

	if (rtnl < 0)
		return -1;
	status = rtnl_forward(rtnl, link->ends[end].device, err);
	if (status == 0 && end == NEAR)
		status = rtnl_add_default_route(
			rtnl, link->ends[NEAR].device, link->ends[FAR].ipv4, err);
	close(rtnl);
	return status;
}

static int
open_way(struct enclosure *enclosure, bool beyond, struct err *err)
{
	const struct link *link = &enclosure->link;

	/* Near: for the replies to links behind this one. */
	if (forward(link, NEAR, err) < 0)
		return -1;
	if (enclosure->outside_is_ours && !beyond)
		return 0;
	/* Where it leads nowhere, so that who tries is told at once. */
	if (forward(link, FAR, err) < 0)
		return -1;
	if (!enclosure->outside_is_ours)
		return 0;
	enclosure->masquerade = masquerade_open(&link->space[FAR], &link->ends[NEAR], err);
	return enclosure->masquerade < 0 ? enclosure->masquerade : 0;
}

int
enclosure_open(struct enclosure *enclosure, bool beyond, struct err *err)
{
	int status = open_link(enclosure, err);

	enclosure->is_open = status == 0;
	return status ? status : open_way(enclosure, beyond, err);
}

void
enclosure_close(struct enclosure *enclosure)
{
	if (enclosure->is_open)
		enclosure->link.backend->close(&enclosure->link);
	if (enclosure->masquerade >= 0)
		close(enclosure->masquerade);
	for (enum end end = NEAR; end < ENDS; end++)
		space_close(&enclosure->link.space[end]);
}
