/* Calibration of a link.
 *
 * A packet takes longer than its delay: the emulator has to be woken to take it in, or netem's
 * timer is late, and its receiver has to be woken to read it. How long that is depends mostly
 * on how deeply the cores sleep, so it is measured under the conditions it will be used in: by
 * a closed-loop echo in a process of its own, which the scheduler treats like any probe, over
 * the link with the delay in place, up to DELAY_MAX_NS (a longer one costs start-up time and
 * wakes hardly later: at 50 ms of round trip an echo took 50.18 ms where 4 ms were tried, 50.09
 * with 12 ms, 50.06 with all of it). Between two echoes over a long link there is a gap, which
 * makes the sleep as deep as a longer delay would; over a short one there is none, because a
 * probe there sends its next request at once. The echo runs on the first core, where most
 * probes are pinned, and the emulator on the last (see tun_link.c): what a wake-up costs
 * depends on whether it crosses cores, and that must not change between calibration and cell.
 * What the echo's median takes beyond the delay, each way, is taken out of the delay from then
 * on. */
#include "link/calibrate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "link/echo.h"

#define SAMPLES_MAX 25
#define SAMPLES_MIN 3
/* The cores have not slept long before the first: at 20 ms an echo took 20.16 ms after a
 * calibration with one, 20.07 with four. */
#define WARMUP 4
#define GAP_NS (1500 * NS_PER_US)
#define SHORT_RTT_NS (2 * NS_PER_MS) /* up to here without gaps */
/* Of what an echo takes one way, the part that wakes its receiver: that is not the link's.
 * Taken out with the rest, a SYN, which the kernel answers, would come back before the round
 * trip is over. Half of what an echo was seen to take longer than a connect() at 50 ms; at 0.5
 * ms, where a core has hardly slept, half of that again and a choice: with all of it left in,
 * what does wake its receiver would read a tenth too long. */
#define RECEIVER_SHORT_NS (8 * NS_PER_US)
#define RECEIVER_LONG_NS (30 * NS_PER_US)
#define ECHO_NS (100 * NS_PER_US) /* what an echo takes at least, about: sizes the count */
#define BUDGET_NS (55 * NS_PER_MS)
#define TIMEOUT_NS (2 * NS_PER_S)
#define DELAY_MAX_NS (12 * NS_PER_MS)
/* No machine with a core to give takes longer one way. More was measured because the machine
 * was busy just then, and taken out it would make a long link a short one. */
#define COST_MAX_NS (250 * NS_PER_US)

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t
median(int64_t *values, int64_t count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return values[(count - 1) / 2];
}

/* How the echo goes. */
struct trial {
	const struct link *link;
	enum arrival arrival;
	int64_t count, gap_ns;
	int core; /* -1: any */
};

/* The child's part: measure, and report one struct base_cost through the pipe. */
static int
measure(const struct trial *trial, int pipe)
{
	int64_t count = trial->count;
	struct echo_sample samples[SAMPLES_MAX];
	struct echo_plan plan = {
		.space = trial->link->space,
		.ends = trial->link->ends,
		.family = AF_INET,
		.core = trial->core,
		.warmup = WARMUP,
		.count = count,
		.interval_ns = trial->gap_ns,
		.one_at_a_time = true,
		.stamped = trial->arrival == ARRIVAL_STAMPED,
		.deadline_ns = clock_now() + TIMEOUT_NS,
	};
	int64_t ways[DIRECTIONS][SAMPLES_MAX];
	struct echo_result result;
	struct base_cost cost;

	if (echo_run(&plan, samples, &result, NULL) < 0 || result.received < count)
		return 1;
	cost.samples = result.received;
	for (int64_t i = 0; i < count; i++) {
		ways[UP][i] = samples[i].up_ns;
		ways[DOWN][i] = samples[i].down_ns;
	}
	for (enum direction i = UP; i < DIRECTIONS; i++)
		cost.ns[i] = median(ways[i], count);
	return write(pipe, &cost, sizeof(cost)) != sizeof(cost);
}

/* The link is carried here while a child, which the scheduler treats like any probe, uses it.
 */
static int
carry_and_measure(
	struct link *link, const struct trial *trial, struct base_cost *cost, struct err *err)
{
	pid_t parent = getpid(), child;
	int ends[2], status;

	if (pipe(ends) < 0)
		return err_sys(err, "calibrate the link");
	child = fork();
	if (child == 0) {
		proc_die_with_parent(parent);
		_exit(measure(trial, ends[1]));
	}
	close(ends[1]);
	status = child < 0 ? err_sys(err, "calibrate the link")
			   : link->backend->run(link, ends[0], err);
	if (status == 0 && read(ends[0], cost, sizeof(*cost)) != sizeof(*cost))
		status = err_set(err, "calibrate the link: no echo came back over it");
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return status;
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void
calibration_path(const struct profile *profile, struct impairment path[static DIRECTIONS])
{
	for (enum direction i = UP; i < DIRECTIONS; i++)
		path[i] = (struct impairment){
			.delay_ns = least(profile->path[i].delay_ns, DELAY_MAX_NS)};
}

int
calibrate(struct link *link, enum arrival arrival, int core, struct base_cost *cost,
	struct err *err)
{
	struct trial trial = {.link = link, .arrival = arrival, .core = core};
	struct impairment path[DIRECTIONS];
	int64_t rtt_ns = ECHO_NS, receiver_ns;

	calibration_path(link->profile, path);
	rtt_ns += path[UP].delay_ns + path[DOWN].delay_ns;
	trial.gap_ns = rtt_ns <= SHORT_RTT_NS ? 0 : GAP_NS;
	trial.count = least(BUDGET_NS / (rtt_ns + trial.gap_ns) - WARMUP, SAMPLES_MAX);
	if (trial.count < SAMPLES_MIN)
		trial.count = SAMPLES_MIN;
	if (carry_and_measure(link, &trial, cost, err) < 0)
		return -1;
	receiver_ns = trial.gap_ns ? RECEIVER_LONG_NS : RECEIVER_SHORT_NS;
	if (arrival == ARRIVAL_STAMPED)
		receiver_ns = 0;
	for (enum direction i = UP; i < DIRECTIONS; i++) {
		cost->ns[i] -= path[i].delay_ns + receiver_ns;
		if (cost->ns[i] < 0)
			cost->ns[i] = 0;
		cost->ns[i] = least(cost->ns[i], COST_MAX_NS);
	}
	link_info(link, "base_rtt_ns", "%" PRId64, cost->ns[UP] + cost->ns[DOWN]);
	link_info(link, "base_samples", "%" PRId64, cost->samples);
	return 0;
}

struct impairment
calibrated_path(const struct impairment *path, int64_t cost_ns)
{
	struct impairment result = *path;

	/* The queue is sized for the delay that was asked for, and jitter stays within the
	 * delay. */
	result.limit_packets = impairment_limit(path);
	result.delay_ns -= least(cost_ns, path->delay_ns - path->jitter_ns);
	return result;
}
