/* Holds the cores out of idle: by PM QoS where that works, else by loops of the lowest
 * priority.
 *
 * Measured on a virtual machine with haltpoll: a blocking round trip between two cores took 53
 * us (p99 4 ms) with the device held at 0, as without, and 40 us (p99 64 us) with the loops. */
#include "run/awake.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/proc.h"
#include "run/wake.h"

static const char *const names[] = {
	[AWAKE_AUTO] = "auto",
	[AWAKE_ON] = "on",
	[AWAKE_OFF] = "off",
};

int
awake_parse(const char *word, enum awake_setting *setting)
{
	for (int i = AWAKE_AUTO; i <= AWAKE_OFF; i++) {
		if (strcmp(word, names[i]))
			continue;
		*setting = (enum awake_setting)i;
		return 0;
	}
	return -1;
}

const char *
awake_setting_name(enum awake_setting setting)
{
	return names[setting];
}

static bool
is_virtual(void)
{
	struct buf text = {0};
	bool found = file_read("/proc/cpuinfo", 4 << 20, &text, NULL) == 0 &&
		     strstr(buf_text(&text), " hypervisor");

	buf_free(&text);
	return found;
}

enum awake_means
awake_find(void)
{
	int fd = is_virtual() ? -1 : open(AWAKE_DEVICE, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return AWAKE_BY_LOOPS;
	close(fd);
	return AWAKE_BY_DEVICE;
}

bool
awake_wanted(const struct matrix *matrix, const struct cell *cell, enum awake_means means)
{
	enum awake_setting setting = cell->awake == AWAKE_AUTO ? matrix->awake : cell->awake;

	if (setting != AWAKE_AUTO || cell->profile->loopback)
		return setting == AWAKE_ON;
	if (means == AWAKE_BY_LOOPS_NEEDED)
		return profile_rtt_ns(cell->profile) <= AWAKE_SHORT_NS;
	return means == AWAKE_BY_DEVICE;
}

/* Is there a cell that only runs with loops where short links need them? */
static bool
has_short_links(const struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		if (awake_wanted(matrix, &matrix->cells[i], AWAKE_BY_LOOPS_NEEDED) !=
			awake_wanted(matrix, &matrix->cells[i], AWAKE_BY_LOOPS))
			return true;
	return false;
}

enum awake_means
awake_look(const struct matrix *matrix, struct err *why)
{
	enum awake_means means = awake_find();
	struct wake wake;

	if (means == AWAKE_BY_DEVICE || !has_short_links(matrix))
		return means;
	if (wake_measure(&wake, NULL) < 0 || !wake_steps(&wake))
		return means;
	err_set(why,
		"cores kept awake over links of up to 2 ms: an idle one takes %" PRId64
		" us to wake after %d us, %" PRId64 " us after %d us",
		wake.soon_ns / NS_PER_US, (int)(WAKE_SOON_NS / NS_PER_US),
		wake.late_ns / NS_PER_US, (int)(WAKE_LATE_NS / NS_PER_US));
	return AWAKE_BY_LOOPS_NEEDED;
}

bool
awake_needed(const struct matrix *matrix, enum awake_means means)
{
	for (size_t i = 0; i < matrix->cell_count; i++)
		if (awake_wanted(matrix, &matrix->cells[i], means))
			return true;
	return false;
}

static int
hold_device(struct awake *awake, struct err *err)
{
	int32_t latency_us = 0;

	awake->fd = open(AWAKE_DEVICE, O_WRONLY | O_CLOEXEC);
	if (awake->fd < 0)
		return err_sys(err, "open " AWAKE_DEVICE);
	if (write(awake->fd, &latency_us, sizeof(latency_us)) == sizeof(latency_us))
		return 0;
	return err_sys(err, "write to " AWAKE_DEVICE); /* awake_end() closes it */
}

/* In the child: never returns. Of all that we had open it keeps nothing. */
static void
loop(pid_t parent)
{
	proc_die_with_parent(parent);
	setpgid(0, 0); /* Ctrl-C is the runner's to handle */
	prctl(PR_SET_NAME, "rtt-awake");
	close_range(0, ~0U, 0);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static int
start_loop(struct awake *awake, int core, struct err *err)
{
	struct sched_param none = {0};
	pid_t parent = getpid(), pid;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)core, &set);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		loop(parent);
	if (pid < 0)
		return err_sys(err, "start a loop that keeps core %d awake", core);
	awake->loops[awake->count++] = pid;
	if (sched_setscheduler(pid, SCHED_IDLE, &none) < 0 ||
		sched_setaffinity(pid, sizeof(set), &set) < 0)
		return err_sys(err, "keep core %d awake", core);
	return 0;
}

static int
start_loops(struct awake *awake, struct err *err)
{
	cpu_set_t allowed;
	int status = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return err_sys(err, "read the allowed cores");
	awake->loops = alloc_zero((size_t)CPU_COUNT(&allowed), sizeof(*awake->loops));
	for (int core = 0; core < CPU_SETSIZE && !status; core++)
		if (CPU_ISSET((size_t)core, &allowed))
			status = start_loop(awake, core, err);
	return status;
}

int
awake_begin(struct awake *awake, enum awake_means means, struct err *err)
{
	if (awake->held)
		return 0;
	*awake = (struct awake){.held = true, .fd = -1};
	if ((means == AWAKE_BY_DEVICE ? hold_device(awake, err) : start_loops(awake, err)) == 0)
		return 0;
	awake_end(awake);
	return -1;
}

void
awake_end(struct awake *awake)
{
	if (!awake->held)
		return;
	if (awake->fd >= 0)
		close(awake->fd);
	for (size_t i = 0; i < awake->count; i++) {
		kill(awake->loops[i], SIGKILL);
		waitpid(awake->loops[i], NULL, 0);
	}
	free(awake->loops);
	*awake = (struct awake){0};
}

void
awake_text(enum awake_means means, char out[static AWAKE_TEXT_SIZE])
{
	cpu_set_t allowed;
	int cores = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
		cores = CPU_COUNT(&allowed);
	if (means == AWAKE_BY_DEVICE)
		snprintf(out, AWAKE_TEXT_SIZE, "cpu_dma_latency");
	else
		snprintf(out, AWAKE_TEXT_SIZE, "SCHED_IDLE loops on %d core%s", cores,
			cores == 1 ? "" : "s");
}
