/* A network namespace as the link's makers and the echo need it: make a socket there, open a
 * TUN device there, run tc there.
 *
 * Between namespaces of one runner this process simply enters each. Between containers it may
 * not: to enter another container's namespace takes CAP_SYS_ADMIN, which no container of ours
 * has. There an agent (`rttlink agent`, see agent.h) in the other container does it for us and
 * passes the descriptors over a Unix socket. A socket stays in the namespace it was made in,
 * wherever it is used. */
#ifndef LINK_SPACE_H
#define LINK_SPACE_H

#include <stdint.h>

#include "base/err.h"
#include "base/proc.h"
#include "link/ends.h"

struct space {
	int ns;      /* descriptor to enter it by; -1: through the agent */
	char *agent; /* path of the agent's socket, or NULL; owned */
};

#define SPACE_NONE                                                                             \
	{                                                                                      \
		.ns = -1                                                                       \
	}

/* Open what the command line names: the path of a namespace (/proc/self/ns/net: where we are),
 * or agent:PATH, which is waited for until `deadline_ns`. -1: nothing is left to close. */
int space_open(const char *where, int64_t deadline_ns, struct space *space, struct err *err);
void space_close(struct space *space);

/* socket(2), made there, close-on-exec. -1 with errno kept. */
int space_socket(
	const struct space *space, int family, int type, int protocol, struct err *err);

/* Open /dev/net/tun there, non-blocking, close-on-exec: a device made with it belongs to that
 * namespace. -1 with errno kept. */
int space_open_tun(const struct space *space, struct err *err);

/* A descriptor of the namespace itself, to name it to the kernel by; close() it. */
int space_descriptor(const struct space *space, struct err *err);

/* Run tc there: proc_capture() with argv[0] "tc". -1 with errno kept when it can't be started.
 */
int space_run_tc(const struct space *space, const char *const argv[], int64_t deadline_ns,
	struct proc_output *output, struct err *err);

#endif
