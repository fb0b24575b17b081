/* Waiting with an end: the deadline's signal, and the choice of blocking, spinning or polling.
 */
#include "net/wait.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"

static const char *last_words;
static volatile sig_atomic_t alarms;

int
wait_again(int fd, short events, const struct wait *wait)
{
	struct pollfd item = {.fd = fd, .events = events};

	if (clock_now() >= wait->deadline_ns) {
		errno = ETIME;
		return -1;
	}
	if (wait->how == WAIT_POLL)
		poll(&item, 1, clock_poll_ms(wait->deadline_ns));
	return 0;
}

/* The first signal only interrupts; the code it interrupts sees the clock and says what it was
 * waiting for. One that falls between that look and the system call is lost, hence the second.
 */
static void
on_alarm(int number)
{
	(void)number;
	if (++alarms < 2)
		return;
	if (write(STDERR_FILENO, last_words, strlen(last_words)) < 0)
		_exit(1);
	_exit(1);
}

int
deadline_arm(int64_t deadline_ns, const char *message, struct err *err)
{
	int64_t left_us = (deadline_ns - clock_now()) / NS_PER_US;
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval timer = {.it_interval.tv_usec = DEADLINE_GRACE_MS * 1000};

	if (left_us < 1)
		left_us = 1;
	timer.it_value.tv_sec = (time_t)(left_us / 1000000);
	timer.it_value.tv_usec = (suseconds_t)(left_us % 1000000);
	last_words = message;
	alarms = 0;
	if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &timer, NULL) < 0)
		return err_sys(err, "arm the deadline");
	return 0;
}
