/* A listener whose accept queue is left to fill: nobody accepts from it until told to, all at
 * once or one at a time. TCP, or a Unix socket with an abstract name. */
#ifndef PROBE_QUEUE_H
#define PROBE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/err.h"
#include "net/addr.h"

struct queue {
	bool local;         /* a Unix socket */
	int64_t place;      /* its port, or the number in its name */
	int64_t somaxconn;  /* of this network namespace */
	int64_t backlog;    /* in force: the smaller of the one asked for and somaxconn */
	int64_t accepted;   /* in all */
	int64_t overflowed; /* ListenOverflows of this namespace since it was opened … */
	int64_t dropped;    /* … and ListenDrops: both after queue_close() */
	int *fds;           /* what was accepted, open until queue_close() */
	size_t cap;
	int fd, stop_fd;
	bool pacing, spin;
	int64_t every_ns;
	pthread_t thread;
	struct err pace_err;
};

/* Listen with `backlog` on the address of `near`, at any port, or on a Unix socket of the
 * kernel's choice. */
int queue_open(
	struct queue *queue, const struct addr *near, bool local, int backlog, struct err *err);

/* How many connections wait in it now, as the kernel says; -1 for a Unix socket of a kernel
 * without unix_diag. */
int queue_length(const struct queue *queue, int64_t *length, struct err *err);

/* Accept all that wait in it, and who comes meanwhile. */
int queue_drain(struct queue *queue, struct err *err);

/* From now on accept one, greet it with a byte, take every_ns for it, accept the next, in a
 * thread of its own, until queue_close(). */
int queue_pace(struct queue *queue, int64_t every_ns, struct err *err);

/* Accept what is left, then close all. -1 when something could not be accepted. Does nothing to
 * a queue that is not open. */
int queue_close(struct queue *queue, struct err *err);

/* The address of the Unix socket whose `place` is this; its length. */
socklen_t queue_local_name(int64_t place, struct sockaddr_un *name);

#endif
