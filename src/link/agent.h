/* The agent: does in its own network namespace what an rttlink in another container asks for,
 * one request a connection, over a Unix socket that only the two containers share. */
#ifndef LINK_AGENT_H
#define LINK_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Listen at `path`, which appears once a connection would be accepted. Returns a descriptor, or
 * -1. The caller unlinks `path`. */
int agent_listen(const char *path, struct err *err);

/* Answer requests until `stop_fd` can be read. A request that fails is the asker's to tell. -1
 * when no more can be taken. */
int agent_serve(int listen_fd, int stop_fd, struct err *err);

/* The rest is what space.c speaks with it. Both run on one machine from one binary, so numbers
 * are in host byte order. */
enum agent_op { AGENT_SOCKET, AGENT_TUN, AGENT_NAMESPACE, AGENT_TC };

#define AGENT_WORDS_SIZE 4096
#define AGENT_TEXT_SIZE 16384 /* of stdout and of stderr of a tc; more is cut off */

struct agent_request {
	enum agent_op op;
	int family, type, protocol;   /* AGENT_SOCKET */
	int64_t limit_ns;             /* AGENT_TC */
	char words[AGENT_WORDS_SIZE]; /* AGENT_TC: its arguments, each with its NUL; "" ends */
};

/* What could be opened comes as a descriptor beside it (SCM_RIGHTS). */
struct agent_answer {
	int error; /* errno, or 0 */
	int exit_status;
	int timed_out;
	char out[AGENT_TEXT_SIZE], err[AGENT_TEXT_SIZE]; /* each ends with a NUL */
};

/* Send `len` bytes and, unless it is -1, a descriptor; receive them. -1 with errno kept. */
int agent_send(int fd, const void *data, size_t len, int descriptor);
int agent_receive(int fd, void *data, size_t len, int *descriptor);

#endif
