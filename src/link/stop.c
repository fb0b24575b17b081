/* Watching for the end: signals and stdin behind one descriptor. */
#include "link/stop.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

int
stop_open(struct err *err)
{
	struct epoll_event event = {.events = EPOLLIN};
	int stop = epoll_create1(EPOLL_CLOEXEC), signals;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	event.data.fd = signals;
	if (stop < 0 || signals < 0 || epoll_ctl(stop, EPOLL_CTL_ADD, signals, &event) < 0)
		return err_sys(err, "watch for signals");
	/* A file or /dev/null can't be waited for: then only signals end us. */
	event.data.fd = STDIN_FILENO;
	if (epoll_ctl(stop, EPOLL_CTL_ADD, STDIN_FILENO, &event) < 0 && errno != EPERM)
		return err_sys(err, "watch stdin");
	return stop;
}

bool
stop_is_meant(int stop)
{
	struct epoll_event event;
	char ignored[256];

	return epoll_wait(stop, &event, 1, 0) > 0 &&
	       (event.data.fd != STDIN_FILENO ||
		       read(STDIN_FILENO, ignored, sizeof(ignored)) <= 0);
}
