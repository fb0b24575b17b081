/* The serving half of the HTTP probes: every path has the same reply, made beforehand. */
#ifndef PROBE_SITE_H
#define PROBE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/http.h"
#include "probe/probe.h"

struct site {
	enum http_framing framing; /* of the replies */
	size_t size;               /* of a body */
	bool never_keep;           /* close after each reply, whatever was asked for */
	int64_t idle_ns;           /* close what is idle this long; 0: never */
	int64_t grace_ns;          /* of the server (server.h) */
	bool reset; /* a request for `Connection: close` is not answered but reset */

	/* For who watches the connections; may be NULL. Once the address is known, before any
	 * is accepted (-1 ends the half), and when a request has come while more are open than
	 * ever before. */
	int (*listening)(void *context, const struct addr *bound, struct err *err);
	void (*most)(void *context);
	void *context;
};

/* Serve until told to stop, then print `connections` and `requests`. Returns what serve() of a
 * probe does. */
int site_serve(const struct site *site, const struct placement *placement,
	const struct probe_call *call, struct err *err);

#endif
