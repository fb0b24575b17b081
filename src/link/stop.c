/* Watching for the end: signals, stdin and a timer behind one descriptor. */
#include "link/stop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

/* A descriptor that can be read once the time is over. */
static int
open_timer(int64_t limit_ns)
{
	struct itimerspec when = {
		.it_value = {(time_t)(limit_ns / NS_PER_S), (long)(limit_ns % NS_PER_S)}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (timer >= 0)
		timerfd_settime(timer, 0, &when, NULL);
	return timer;
}

static void
block(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int
stop_open(int64_t limit_ns, struct err *err)
{
	struct epoll_event event = {.events = EPOLLIN};
	int stop = epoll_create1(EPOLL_CLOEXEC), signals, timer;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	block(SIGTTIN); /* see read_words() */
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	event.data.fd = signals;
	if (stop < 0 || signals < 0 || epoll_ctl(stop, EPOLL_CTL_ADD, signals, &event) < 0)
		return err_sys(err, "watch for signals");
	timer = open_timer(limit_ns); /* 0 leaves it disarmed */
	event.data.fd = timer;
	if (timer < 0 || epoll_ctl(stop, EPOLL_CTL_ADD, timer, &event) < 0)
		return err_sys(err, "watch the time");
	/* A file or /dev/null can't be waited for: then only signals end us. */
	event.data.fd = STDIN_FILENO;
	if (epoll_ctl(stop, EPOLL_CTL_ADD, STDIN_FILENO, &event) < 0 && errno != EPERM)
		return err_sys(err, "watch stdin");
	return stop;
}

/* Take what stdin says; false at its end. What is typed at a terminal that has us in the
 * background is the shell's: a read would stop this process, or fail with EIO while SIGTTIN is
 * blocked, and from then on only signals end us. */
static bool
read_words(int stop, struct stop_words *words)
{
	ssize_t len;

	/* A line that does not fit is no word of ours. */
	if (words->len == sizeof(words->text))
		words->len = 0;
	len = read(STDIN_FILENO, words->text + words->len, sizeof(words->text) - words->len);
	if (len > 0)
		words->len += (size_t)len;
	if (len < 0 && errno == EIO)
		return epoll_ctl(stop, EPOLL_CTL_DEL, STDIN_FILENO, NULL) == 0;
	return len > 0;
}

bool
stop_hear(int stop, struct stop_words *words)
{
	struct epoll_event event;

	if (epoll_wait(stop, &event, 1, 0) <= 0)
		return false;
	return event.data.fd != STDIN_FILENO || !read_words(stop, words);
}

bool
stop_is_meant(int stop)
{
	struct stop_words ignored = {.len = 0};

	return stop_hear(stop, &ignored);
}

bool
stop_next_word(struct stop_words *words, char word[static STOP_WORDS_SIZE])
{
	char *newline = memchr(words->text, '\n', words->len);
	size_t len;

	if (!newline)
		return false;
	len = (size_t)(newline - words->text);
	memcpy(word, words->text, len);
	word[len] = '\0';
	words->len -= len + 1;
	memmove(words->text, newline + 1, words->len);
	return true;
}
