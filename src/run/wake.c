/* Wakes one core from another, again and again: the one spins until it speaks, the other sleeps
 * until it hears. */
#include "run/wake.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"
#include "stat/quantile.h"

#define WARMUP 3
#define ROUNDS 25

/* Four of them, two wakes each way, are what a link's round trip is off by; a link of half a
 * millisecond may be off by 150 us. Seen: 60 to 70 us, where no such link could be made, and
 * less than 30 where all could. */
#define STEP_NS (40 * NS_PER_US)

enum { SOON, LATE, GAPS };

/* The core that is woken: how long each word took to be heard. -1 when the other is gone. */
static int
hear(int fd, struct wake *wake)
{
	int64_t took[WARMUP + ROUNDS], said_ns, medians[GAPS];

	for (int gap = SOON; gap < GAPS; gap++) {
		for (int i = 0; i < WARMUP + ROUNDS; i++) {
			if (recv(fd, &said_ns, sizeof(said_ns), 0) != sizeof(said_ns))
				return -1;
			took[i] = clock_now() - said_ns;
			if (send(fd, &said_ns, sizeof(said_ns), MSG_NOSIGNAL) < 0)
				return -1;
		}
		medians[gap] = stat_middle(took + WARMUP, ROUNDS);
	}
	*wake = (struct wake){medians[SOON], medians[LATE]};
	return 0;
}

/* The core that wakes it: each word after the other has slept for as long as is asked. */
static void
speak(int fd)
{
	static const int64_t gaps[GAPS] = {WAKE_SOON_NS, WAKE_LATE_NS};
	int64_t said_ns, until;

	for (int gap = SOON; gap < GAPS; gap++)
		for (int i = 0; i < WARMUP + ROUNDS; i++) {
			until = clock_now() + gaps[gap];
			do
				said_ns = clock_now();
			while (said_ns < until);
			if (send(fd, &said_ns, sizeof(said_ns), MSG_NOSIGNAL) < 0 ||
				recv(fd, &said_ns, sizeof(said_ns), 0) != sizeof(said_ns))
				return;
		}
}

/* On the first or the last of the cores that are allowed. */
static void
pin(bool last)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	CPU_ZERO(&one);
	for (size_t core = 0; core < CPU_SETSIZE && !(CPU_COUNT(&one) && !last); core++)
		if (CPU_ISSET(core, &allowed)) {
			CPU_ZERO(&one);
			CPU_SET(core, &one);
		}
	sched_setaffinity(0, sizeof(one), &one);
}

/* In a child, so that neither core nor waiting is the caller's: one of the two, then its end.
 */
static pid_t
start(const int fds[2], bool speaks, int result)
{
	pid_t parent = getpid(), pid = fork();
	struct wake wake;

	if (pid)
		return pid;
	proc_die_with_parent(parent);
	close(fds[speaks]); /* the other's: when that is gone, so is this */
	pin(speaks);
	if (speaks)
		speak(fds[!speaks]);
	else if (hear(fds[!speaks], &wake) < 0 ||
		 write(result, &wake, sizeof(wake)) != sizeof(wake))
		_exit(1);
	_exit(0);
}

int
wake_measure(struct wake *wake, struct err *err)
{
	int fds[2], result[2], status = 0;
	pid_t pids[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_sys(err, "measure how cores wake");
	if (pipe(result) < 0) {
		close(fds[0]);
		close(fds[1]);
		return err_sys(err, "measure how cores wake");
	}
	for (int i = 0; i < 2; i++) {
		pids[i] = start(fds, i, result[1]);
		if (pids[i] < 0)
			status = err_sys(err, "measure how cores wake");
	}
	close(fds[0]);
	close(fds[1]);
	close(result[1]);
	if (read(result[0], wake, sizeof(*wake)) != sizeof(*wake) && !status)
		status = err_set(err, "measure how cores wake: it ended without a word");
	close(result[0]);
	for (int i = 0; i < 2; i++)
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
	return status;
}

bool
wake_steps(const struct wake *wake)
{
	return wake->late_ns - wake->soon_ns > STEP_NS;
}
