/* Threads beside the main one, which deadlines and SIGTERM are for. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include "base/err.h"

/* Start a thread that no signal comes to: they stay with the thread that starts it. Join or
 * detach it. -1 with errno kept. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg, struct err *err);

#endif
