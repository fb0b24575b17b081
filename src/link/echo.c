/* UDP echo between two sockets of one process, each in its own namespace.
 *
 *   near: send(number, t0) ... t3 = now    far: t1 = now, send(number, t1, t2 = now)
 *
 * Times are those a program sees: taken before send() and after recv() returned. Or, if the
 * plan says so, t1 and t3 are when the kernel took the packet from its device: what it takes to
 * wake us is then in neither way. */
#include "link/echo.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/cpu.h"

#define GRACE_NS (100 * NS_PER_MS)
#define HOLD_NS (3 * NS_PER_S) /* longer than any cold round trip, short against a deadline */

/* 64 bytes, as the probes' requests. Never leaves this machine, so in host byte order. */
struct message {
	int64_t number; /* below 0: warm-up */
	int64_t sent_ns;
	int64_t turned_ns; /* when the far end had it */
	int64_t back_ns;   /* when the far end sent it back */
	char padding[32];
};

struct echo {
	const struct echo_plan *plan;
	struct echo_sample *samples;
	int fds[ENDS];
	int64_t next;    /* number to send next, from -warmup */
	int64_t send_ns; /* not before */
	int64_t newest;  /* highest number that came back */
	int64_t received, warm;
	int64_t first_ns;
	int64_t longest_ns; /* round trip */
	int64_t last_ns;    /* when the last one was sent */
};

static int
open_end(const struct echo_plan *plan, enum end end, struct err *err)
{
	struct sockaddr_storage address;
	socklen_t len = end_sockaddr(&plan->ends[end], plan->family, 0, &address);
	int fd;

	fd = space_socket(&plan->space[end], plan->family, SOCK_DGRAM | SOCK_NONBLOCK, 0, err);
	if (fd < 0)
		return err_prefix(err, "echo");
	if (plan->stamped &&
		setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &(int){1}, sizeof(int)) < 0)
		err_sys(err, "echo: have the kernel stamp what arrives");
	else if (bind(fd, (void *)&address, len) < 0)
		err_sys(err, "echo: bind to the %s end's address", plan->ends[end].name);
	else
		return fd;
	close(fd);
	return -1;
}

/* Each socket hears only the other. */
static int
join(const int fds[static ENDS], struct err *err)
{
	for (enum end end = NEAR; end < ENDS; end++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof(peer);

		if (getsockname(fds[!end], (void *)&peer, &len) < 0 ||
			connect(fds[end], (void *)&peer, len) < 0)
			return err_sys(err, "echo: connect the two ends");
	}
	return 0;
}

static void
send_next(struct echo *echo)
{
	struct message message = {.number = echo->next, .sent_ns = clock_now()};

	/* One that can't be sent is as lost as one that does not arrive. */
	(void)!send(echo->fds[NEAR], &message, sizeof(message), 0);
	echo->next++;
	echo->last_ns = message.sent_ns;
	echo->send_ns += echo->plan->interval_ns;
	if (echo->send_ns < message.sent_ns || echo->plan->one_at_a_time)
		echo->send_ns = message.sent_ns + echo->plan->interval_ns;
}

/* How long ago the kernel took in what `header` came with; 0 without a stamp. Stamps are of the
 * real-time clock, which may have been set in between: then it is no time at all. */
static int64_t
age_ns(struct msghdr *header)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(header);
	struct timespec stamp, now;
	int64_t age;

	if (!control || control->cmsg_level != SOL_SOCKET ||
		control->cmsg_type != SCM_TIMESTAMPNS)
		return 0;
	memcpy(&stamp, CMSG_DATA(control), sizeof(stamp));
	clock_gettime(CLOCK_REALTIME, &now);
	age = (now.tv_sec - stamp.tv_sec) * NS_PER_S + now.tv_nsec - stamp.tv_nsec;
	return age > 0 && age < HOLD_NS ? age : 0;
}

/* The next message at that end, and when it arrived; false: there is none. */
static bool
receive(const struct echo *echo, enum end end, struct message *message, int64_t *arrived_ns)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct timespec))];
	} control;
	struct iovec piece = {message, sizeof(*message)};
	struct msghdr header = {.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	if (recvmsg(echo->fds[end], &header, 0) != sizeof(*message))
		return false;
	*arrived_ns = clock_now() - age_ns(&header);
	return true;
}

static void
turn(struct echo *echo)
{
	struct message message;

	while (receive(echo, FAR, &message, &message.turned_ns)) {
		message.back_ns = clock_now();
		(void)!send(echo->fds[FAR], &message, sizeof(message), 0);
	}
}

static void
note(struct echo *echo, const struct message *message, int64_t arrived_ns)
{
	struct echo_sample *sample;

	if (message->number > echo->newest)
		echo->newest = message->number;
	if (arrived_ns - message->sent_ns > echo->longest_ns)
		echo->longest_ns = arrived_ns - message->sent_ns;
	if (message->number == -echo->plan->warmup)
		echo->first_ns = arrived_ns - message->sent_ns;
	if (message->number < 0) {
		echo->warm++;
		return;
	}
	sample = &echo->samples[message->number];
	if (sample->up_ns)
		return; /* a duplicate */
	sample->up_ns = message->turned_ns - message->sent_ns;
	sample->down_ns = arrived_ns - message->back_ns;
	echo->received++;
}

static void
take_replies(struct echo *echo)
{
	struct message message;
	int64_t arrived_ns;

	while (receive(echo, NEAR, &message, &arrived_ns)) {
		if (message.number >= -echo->plan->warmup && message.number < echo->plan->count)
			note(echo, &message, arrived_ns);
		if (echo->plan->one_at_a_time)
			echo->send_ns = clock_now() + echo->plan->interval_ns;
	}
}

static bool
all_sent(const struct echo *echo)
{
	return echo->next >= echo->plan->count;
}

/* Has one come back, or is it pointless to wait for that? */
static bool
is_warm(const struct echo *echo)
{
	return echo->next < 0 || echo->warm || !echo->plan->warmup ||
	       clock_now() >= echo->last_ns + HOLD_NS;
}

/* One at a time: when the one under way counts as lost, so that the next one goes. */
static int64_t
lost_ns(const struct echo *echo)
{
	return echo->last_ns + (echo->longest_ns ? 2 * echo->longest_ns + GRACE_NS : HOLD_NS);
}

/* May the next one go, as far as those before it are concerned? */
static bool
may_send(const struct echo *echo)
{
	if (all_sent(echo) || !is_warm(echo))
		return false;
	return !echo->plan->one_at_a_time || echo->newest == echo->next - 1 ||
	       clock_now() >= lost_ns(echo);
}

/* The time at which something has to be done even if no packet comes. */
static int64_t
wake_time(const struct echo *echo)
{
	int64_t wake_ns = echo->plan->deadline_ns;
	int64_t give_up_ns = echo->last_ns + 2 * echo->longest_ns + GRACE_NS;

	if (may_send(echo) && echo->send_ns < wake_ns)
		wake_ns = echo->send_ns;
	if (!is_warm(echo) && echo->last_ns + HOLD_NS < wake_ns)
		wake_ns = echo->last_ns + HOLD_NS;
	if (all_sent(echo) && echo->longest_ns && give_up_ns < wake_ns)
		wake_ns = give_up_ns;
	if (echo->plan->one_at_a_time && !all_sent(echo) && !may_send(echo) &&
		lost_ns(echo) < wake_ns)
		wake_ns = lost_ns(echo);
	return wake_ns;
}

static void
wait(struct echo *echo, int64_t wake_ns)
{
	struct pollfd fds[ENDS] = {{echo->fds[NEAR], POLLIN, 0}, {echo->fds[FAR], POLLIN, 0}};
	int64_t left_ns = wake_ns - clock_now();
	struct timespec timeout;

	if (left_ns < 0)
		left_ns = 0;
	timeout.tv_sec = (time_t)(left_ns / NS_PER_S);
	timeout.tv_nsec = (long)(left_ns % NS_PER_S);
	if (ppoll(fds, ENDS, &timeout, NULL) <= 0)
		return;
	if (fds[FAR].revents)
		turn(echo);
	if (fds[NEAR].revents)
		take_replies(echo);
}

static void
exchange(struct echo *echo)
{
	while (echo->received < echo->plan->count) {
		int64_t wake_ns = wake_time(echo);

		if (clock_now() < wake_ns)
			wait(echo, wake_ns);
		else if (may_send(echo) && wake_ns < echo->plan->deadline_ns)
			send_next(echo);
		else
			return;
	}
}

int
echo_run(const struct echo_plan *plan, struct echo_sample *samples, struct echo_result *result,
	struct err *err)
{
	struct echo echo = {
		.plan = plan,
		.samples = samples,
		.fds = {-1, -1},
		.next = -plan->warmup,
		.newest = -plan->warmup - 1,
		.send_ns = clock_now(),
	};
	int status = -1;

	if (plan->core >= 0)
		cpu_pin_to(plan->core, NULL);
	memset(samples, 0, sizeof(*samples) * (size_t)plan->count);
	for (enum end end = NEAR; end < ENDS; end++) {
		echo.fds[end] = open_end(plan, end, err);
		if (echo.fds[end] < 0)
			goto out;
	}
	if (join(echo.fds, err) < 0)
		goto out;
	exchange(&echo);
	*result = (struct echo_result){echo.received, echo.first_ns};
	status = 0;
out:
	for (enum end end = NEAR; end < ENDS; end++)
		if (echo.fds[end] >= 0)
			close(echo.fds[end]);
	return status;
}
