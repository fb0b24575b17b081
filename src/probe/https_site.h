/* A serving half that answers HTTPS on TCP and DNS on UDP at one port: every name of our zone
 * has the address of this server, and its certificate is for all of them. */
#ifndef PROBE_HTTPS_SITE_H
#define PROBE_HTTPS_SITE_H

#include <stddef.h>

#include "net/tls_context.h"
#include "probe/probe.h"

struct https_site {
	struct tls_setting setting;
	size_t size; /* of a reply's body */
};

/* As server_run(), placed as the options say; prints `queries`, `connections` and `requests`,
 * without those of a client's first request (it is known by asking for the CA before), and
 * `server_resumed`, `server_early` and `server_failed`. */
int https_site_serve(const struct https_site *site, const struct placement *placement,
	const struct probe_call *call, struct err *err);

#endif
