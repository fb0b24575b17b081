/* Starts workers as the schedule allows, waits for them, and reads back their outcomes.
 *
 * A turn runs in a forked process: namespaces it enters, memory it leaks and signals it gets
 * stay its own. Workers are in process groups of their own, so that Ctrl-C reaches only the
 * runner, which passes it on as SIGTERM; each dies with the runner, and its children die with
 * it. */
#include "run/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/rng.h"
#include "run/child.h"
#include "run/turn.h"

#define WORKERS_MAX 64
#define DRAW_NS (200 * NS_PER_MS) /* how often the live line is drawn */
#define STOP_NS (5 * NS_PER_S)    /* for workers to clean up after SIGTERM */
#define DISCARDS_MAX 4 /* a turn whose link was out of tolerance is run again this often */

enum worker_exit { WORKER_BROKEN = 1, WORKER_STOPPED = 130 };

struct worker {
	pid_t pid; /* 0: the slot is free */
	int pidfd;
	int err_fd; /* carries the error text of a worker that could not write results */
	size_t turn;
	int64_t start_ns;
};

struct pool {
	const struct pool_setup *setup;
	struct progress *progress;
	struct worker workers[WORKERS_MAX];
	size_t running;
	size_t next;   /* turn to start next, unless one waits to be run again */
	size_t *again; /* turns to run again, a stack */
	size_t again_count;
	unsigned char *discarded; /* per turn: how many times it was thrown away */
	struct awake awake;       /* as the turns that run now want it */
	char awake_text[AWAKE_TEXT_SIZE];
	bool broken;
	struct err *err;
};

static const struct cell *
cell_of(const struct pool *pool, size_t turn)
{
	return &pool->setup->matrix->cells[pool->setup->schedule->turns[turn].cell];
}

static bool
wants_awake(const struct pool *pool, size_t turn)
{
	return awake_wanted(pool->setup->matrix, cell_of(pool, turn), pool->setup->awake);
}

static struct turn_plan
plan_of(const struct pool *pool, size_t turn)
{
	const struct pool_setup *setup = pool->setup;
	const struct cell *cell = cell_of(pool, turn);
	struct turn_plan plan = {
		.cell = cell,
		.repeat = setup->schedule->turns[turn].repeat,
		.runtime = setup->runtime,
		.dir = setup->dir,
		.awake = wants_awake(pool, turn) ? pool->awake_text : "off",
		.shared = schedule_shares(cell, setup->schedule->jobs),
	};
	struct rng rng;

	/* By the profile, not by the cell: a repeat of every cell on it meets the same losses.
	 */
	rng_seed(&rng, (uint64_t)setup->matrix->seed,
		rng_hash(cell->profile->name) + (uint64_t)plan.repeat);
	plan.link_seed = (int64_t)(rng_next(&rng) >> 1); /* our numbers are signed */
	return plan;
}

static char *
folder_of(const struct pool *pool, size_t turn)
{
	return turn_folder(pool->setup->dir, cell_of(pool, turn),
		pool->setup->schedule->turns[turn].repeat);
}

/* In the worker. Never returns. */
static void
work(const struct pool *pool, size_t turn, pid_t runner, int err_fd)
{
	struct turn_plan plan = plan_of(pool, turn);
	struct err err = {0};
	ssize_t ignored;
	int status;

	proc_die_with_parent(runner);
	status = turn_run(&plan, &err);
	if (status < 0) {
		ignored = write(err_fd, err.text, strlen(err.text));
		(void)ignored;
	}
	_exit(status < 0 ? WORKER_BROKEN : status ? WORKER_STOPPED : 0);
}

static struct worker *
free_slot(struct pool *pool)
{
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (!pool->workers[i].pid)
			return &pool->workers[i];
	return NULL;
}

static int
start_worker(struct pool *pool, size_t turn)
{
	struct worker *worker = free_slot(pool);
	pid_t runner = getpid();
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_sys(pool->err, "start a worker");
	fflush(NULL);
	worker->pid = fork();
	if (worker->pid == 0) {
		setpgid(0, 0);
		work(pool, turn, runner, pipe_fds[1]);
	}
	close(pipe_fds[1]);
	worker->pidfd = worker->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, worker->pid, 0);
	if (worker->pidfd < 0) {
		err_sys(pool->err, "start a worker");
		if (worker->pid > 0) {
			kill(worker->pid, SIGKILL);
			waitpid(worker->pid, NULL, 0);
		}
		worker->pid = 0;
		close(pipe_fds[0]);
		return -1;
	}
	worker->err_fd = pipe_fds[0];
	worker->turn = turn;
	worker->start_ns = clock_now();
	pool->running++;
	return 0;
}

/* A worker ended without an outcome, and nobody here told it to: write one in its place. */
static void
write_lost(struct pool *pool, size_t turn, int wait_status)
{
	struct turn_plan plan = plan_of(pool, turn);
	char *reason = alloc_printf(
		"the worker of this cell was ended from outside (status %d)",
		proc_status(wait_status));

	if (turn_write_lost(&plan, reason, pool->err) < 0)
		pool->broken = true;
	free(reason);
}

/* The results cannot be written: take the worker's words for why. */
static void
note_broken(struct pool *pool, const struct worker *worker)
{
	struct err text = {0};

	if (pool->broken)
		return;
	pool->broken = true;
	if (read(worker->err_fd, text.text, sizeof(text.text) - 1) > 0)
		err_set(pool->err, "%s", text.text);
	else
		err_set(pool->err, "a worker could not write its results");
}

/* The link of a turn was out of tolerance, which a busy machine does now and then. Keep its
 * records aside, visibly, and run it again; false when it had its chances. Whether a turn is
 * discarded never depends on what its probe measured. */
static bool
discard(struct pool *pool, size_t turn, const struct turn_outcome *outcome)
{
	char *folder, *aside = NULL;
	bool moved;

	if (!outcome->off_target || pool->discarded[turn] == DISCARDS_MAX)
		return false;
	folder = folder_of(pool, turn);
	do { /* what an earlier part of a resumed run put aside counts, too */
		free(aside);
		aside = alloc_printf("%s.discarded-%d", folder, ++pool->discarded[turn]);
		moved = rename(folder, aside) == 0;
	} while (!moved && (errno == ENOTEMPTY || errno == EEXIST) &&
		 pool->discarded[turn] < DISCARDS_MAX);
	if (moved) {
		pool->again[pool->again_count++] = turn;
		progress_note(pool->progress, "again: %s #%" PRId64 ": %s",
			cell_of(pool, turn)->id, pool->setup->schedule->turns[turn].repeat,
			outcome->reason);
	}
	free(aside);
	free(folder);
	return moved;
}

/* Read what a worker left and tell. */
static void
take_outcome(struct pool *pool, const struct worker *worker)
{
	const struct turn *turn = &pool->setup->schedule->turns[worker->turn];
	char *folder = folder_of(pool, worker->turn);
	struct turn_outcome outcome;

	if (turn_read_outcome(folder, &outcome) && !discard(pool, worker->turn, &outcome))
		progress_turn(pool->progress, cell_of(pool, worker->turn)->id, turn->repeat,
			outcome.status, outcome.reason, clock_now() - worker->start_ns);
	free(folder);
}

/* A worker has ended. */
static void
finish_worker(struct pool *pool, struct worker *worker)
{
	int wait_status = 0;

	waitpid(worker->pid, &wait_status, 0);
	if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == WORKER_BROKEN)
		note_broken(pool, worker);
	else if (proc_status(wait_status) && !child_stop_asked() && !pool->broken)
		write_lost(pool, worker->turn, wait_status);
	take_outcome(pool, worker);
	close(worker->pidfd);
	close(worker->err_fd);
	*worker = (struct worker){0};
	pool->running--;
}

/* Wait for any worker to end, a signal, or `limit_ns`; -1 when one cannot wait here. */
static int
wait_workers(struct pool *pool, int64_t limit_ns)
{
	int64_t left_ns = limit_ns > 0 ? limit_ns : 0;
	struct timespec timeout = {left_ns / NS_PER_S, left_ns % NS_PER_S};
	struct worker *waited[WORKERS_MAX];
	struct pollfd fds[WORKERS_MAX];
	nfds_t count = 0;
	sigset_t none;

	/* Only those that run: poll() refuses more entries than a process may have files. */
	for (size_t i = 0; i < WORKERS_MAX; i++) {
		if (!pool->workers[i].pid)
			continue;
		waited[count] = &pool->workers[i];
		fds[count++] = (struct pollfd){pool->workers[i].pidfd, POLLIN, 0};
	}
	sigemptyset(&none);
	if (ppoll(fds, count, &timeout, &none) < 0 && errno != EINTR)
		return err_sys(pool->err, "wait for workers");
	for (nfds_t i = 0; i < count; i++)
		if (fds[i].revents)
			finish_worker(pool, waited[i]);
	return 0;
}

static void
signal_workers(struct pool *pool, int signal)
{
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (pool->workers[i].pid)
			kill(pool->workers[i].pid, signal);
}

/* End all workers: asked first, and after a while no longer asked. */
static void
stop_workers(struct pool *pool)
{
	int64_t deadline_ns = clock_now() + STOP_NS;

	signal_workers(pool, SIGTERM);
	while (pool->running && clock_now() < deadline_ns)
		if (wait_workers(pool, deadline_ns - clock_now()) < 0)
			break;
	signal_workers(pool, SIGKILL);
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (pool->workers[i].pid)
			finish_worker(pool, &pool->workers[i]);
}

/* The turn that is due; false when none is left to start. */
static bool
due_turn(const struct pool *pool, size_t *turn)
{
	if (pool->again_count)
		*turn = pool->again[pool->again_count - 1];
	else
		*turn = pool->next;
	return *turn < pool->setup->schedule->count;
}

/* May it start beside what runs now? */
static bool
may_start(const struct pool *pool, size_t turn)
{
	int64_t jobs = pool->setup->schedule->jobs;

	if (!pool->running)
		return true;
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (pool->workers[i].pid &&
			!schedule_shares(cell_of(pool, pool->workers[i].turn), jobs))
			return false;
	if (wants_awake(pool, turn) != pool->awake.held)
		return false;
	return schedule_shares(cell_of(pool, turn), jobs) && pool->running < (size_t)jobs &&
	       pool->running < WORKERS_MAX;
}

/* Was it run before, in a run that this one goes on with? */
static bool
has_outcome(const struct pool *pool, size_t turn)
{
	char *folder = folder_of(pool, turn);
	struct turn_outcome outcome;
	bool has = turn_read_outcome(folder, &outcome);

	free(folder);
	return has;
}

/* All that run now want the same, see may_start(). */
static int
set_awake(struct pool *pool, size_t turn)
{
	if (wants_awake(pool, turn))
		return awake_begin(&pool->awake, pool->setup->awake, pool->err);
	awake_end(&pool->awake);
	return 0;
}

/* Start what may start. */
static int
start_turns(struct pool *pool)
{
	size_t turn;

	while (due_turn(pool, &turn) && may_start(pool, turn)) {
		if (pool->again_count)
			pool->again_count--;
		else
			pool->next++;
		if (has_outcome(pool, turn))
			pool->progress->done++;
		else if (set_awake(pool, turn) < 0 || start_worker(pool, turn) < 0)
			return -1;
	}
	return 0;
}

/* The live line: the turn that runs longest, and the plan's estimate scaled by how it has held.
 */
static void
draw(struct pool *pool, int64_t start_ns)
{
	const struct pool_setup *setup = pool->setup;
	int64_t all = schedule_estimate_ns(setup->schedule, setup->matrix, 0);
	int64_t left = schedule_estimate_ns(setup->schedule, setup->matrix, pool->next);
	int64_t passed = clock_now() - start_ns;
	const struct worker *oldest = NULL;

	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (pool->workers[i].pid &&
			(!oldest || pool->workers[i].start_ns < oldest->start_ns))
			oldest = &pool->workers[i];
	if (all - left > all / 10) /* enough has passed to correct the estimate by */
		left = (int64_t)((double)left * (double)passed / (double)(all - left));
	progress_draw(pool->progress, oldest ? cell_of(pool, oldest->turn)->id : "",
		pool->running, left);
}

enum pool_end
pool_run(const struct pool_setup *setup, struct progress *progress, struct err *err)
{
	struct pool pool = {
		.setup = setup,
		.progress = progress,
		.err = err,
		.again = alloc_zero(setup->schedule->count, sizeof(*pool.again)),
		.discarded = alloc_zero(setup->schedule->count, sizeof(*pool.discarded)),
	};
	int64_t start_ns = clock_now();

	awake_text(setup->awake, pool.awake_text);
	while (!child_stop_asked() && !pool.broken) {
		if (start_turns(&pool) < 0)
			pool.broken = true;
		if (!pool.running)
			break;
		draw(&pool, start_ns);
		if (wait_workers(&pool, DRAW_NS) < 0)
			pool.broken = true;
	}
	stop_workers(&pool);
	awake_end(&pool.awake);
	progress_end(progress);
	free(pool.discarded);
	free(pool.again);
	if (pool.broken)
		return POOL_BROKEN;
	return child_stop_asked() ? POOL_INTERRUPTED : POOL_DONE;
}
