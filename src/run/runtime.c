/* The runtimes netns and host, and the choice between them. */
#include "run/runtime.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/netns.h"

static int
place_open(bool linked, struct place *place, struct err *err)
{
	*place = (struct place){-1, -1};
	place->near = netns_new(err);
	if (place->near < 0)
		return -1;
	place->far = linked ? netns_new(err) : dup(place->near);
	if (place->far >= 0)
		return 0;
	close(place->near);
	return -1;
}

static void
place_close(struct place *place)
{
	if (place->near >= 0)
		close(place->near);
	if (place->far >= 0)
		close(place->far);
	*place = (struct place){-1, -1};
}

static int
host_open(bool linked, struct place *place, struct err *err)
{
	*place = (struct place){-1, -1};
	return linked ? err_set(err, "the runtime host has no links") : 0;
}

static void
host_close(struct place *place)
{
	(void)place;
}

const struct runtime runtime_netns = {
	.name = "netns",
	.links = true,
	.open = place_open,
	.close = place_close,
};

const struct runtime runtime_host = {
	.name = "host",
	.links = false,
	.open = host_open,
	.close = host_close,
};

const struct runtime *
runtime_choose(const char *name, struct err *why, struct err *err)
{
	struct err reason;
	bool entered;

	if (!strcmp(name, "host")) {
		err_set(why, "runtime host: as asked");
		return &runtime_host;
	}
	if (netns_prepare(&entered, &reason) == 0) {
		err_set(why, "runtime netns: %s",
			strcmp(name, "auto") ? "as asked"
					     : "this machine can make network namespaces");
		return &runtime_netns;
	}
	if (strcmp(name, "auto")) {
		err_set(err, "%s", reason.text);
		return NULL;
	}
	err_set(why, "runtime host: %s", reason.text);
	return &runtime_host;
}
