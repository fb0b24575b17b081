/* How long, and in which way, to wait for the other side. */
#ifndef NET_WAIT_H
#define NET_WAIT_H

#include <stdint.h>

#include "base/err.h"

/* The first two are what the option `wait=block|spin` offers, in its order. */
enum wait_how {
	WAIT_BLOCK, /* the system call sleeps: what most programs do; wakes up the core */
	WAIT_SPIN,  /* non-blocking calls over and over: no sleep, no wake-up */
	WAIT_POLL,  /* non-blocking sockets and poll(): several waits at once */
};

struct wait {
	enum wait_how how;
	int64_t deadline_ns; /* CLOCK_MONOTONIC */
};

/* To be called when a call on `fd` returned EINTR or EAGAIN: returns 0 when it is worth trying
 * again, -1 with errno ETIME after the deadline. `events` as for poll(). A WAIT_BLOCK call is
 * not cut short by itself: the signal of deadline_arm() does that. */
int wait_again(int fd, short events, const struct wait *wait);

/* A second signal this long after the first ends a process that did not heed it. */
#define DEADLINE_GRACE_MS 200

/* Arrange that at `deadline_ns` blocking system calls return EINTR, and that a process still
 * there a grace later writes `message` to stderr and exits 1, whatever it hangs in. `message`
 * must stay valid and end with a newline. Once a process. */
int deadline_arm(int64_t deadline_ns, const char *message, struct err *err);

#endif
