/* Threads without signals. */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>

int
thread_start(pthread_t *thread, void *(*run)(void *), void *arg, struct err *err)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errno ? err_sys(err, "start a thread") : 0;
}
