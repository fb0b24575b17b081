/* Keeping the cores out of idle while cells run, so that waking one is no part of their
 * figures. */
#ifndef RUN_AWAKE_H
#define RUN_AWAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"
#include "run/matrix.h"

#define AWAKE_OPTION "awake" /* of a cell: the runner's, not passed on to the probe */
#define AWAKE_DEVICE "/dev/cpu_dma_latency"
#define AWAKE_TEXT_SIZE 64

enum awake_means {
	AWAKE_BY_DEVICE, /* PM QoS: the kernel enters no idle state that takes time to leave */
	AWAKE_BY_LOOPS,  /* on each core a busy loop that gives way to everything else */
	/* The same, on a machine where a short link cannot do without: see wake_steps(). */
	AWAKE_BY_LOOPS_NEEDED,
};

/* A short link, by its round trip. */
#define AWAKE_SHORT_NS (2 * NS_PER_MS)

/* Zero-initialise; release with awake_end(). */
struct awake {
	bool held;
	int fd;       /* of the device */
	pid_t *loops; /* one a core */
	size_t count;
};

/* "auto", "on" or "off"; -1 for another word. */
int awake_parse(const char *word, enum awake_setting *setting);
const char *awake_setting_name(enum awake_setting setting);

/* What keeps the cores of this machine awake. The device where it may be opened, but not in a
 * virtual machine: there the host puts the core to sleep, which the device does not prevent. */
enum awake_means awake_find(void);

/* The same, for these cells: where `auto` has to decide on a short link it is measured whether
 * that needs the loops (see wake.h); then *why says so, else it is left alone. */
enum awake_means awake_look(const struct matrix *matrix, struct err *why);

/* Is the cell to run with the cores awake? As it says itself, or else as the matrix does.
 * `auto` is yes over a link where the device does it, which costs nothing: there a core that
 * sleeps only makes the link late. On loopback it would change what `wait=block` measures, and
 * the loops take power and a core's other thread: they only run when asked for, or over a short
 * link that needs them, and not beside containers, from which they take half of a core. */
bool awake_wanted(const struct matrix *matrix, const struct cell *cell, enum awake_means means);

/* Does any cell of the matrix want it? */
bool awake_needed(const struct matrix *matrix, enum awake_means means);

/* Keep this process's cores awake until awake_end() or until we are gone, however. Harmless
 * when they are. -1: they are not. */
int awake_begin(struct awake *awake, enum awake_means means, struct err *err);
void awake_end(struct awake *awake);

/* "cpu_dma_latency" or "SCHED_IDLE loops on N cores". */
void awake_text(enum awake_means means, char out[static AWAKE_TEXT_SIZE]);

#endif
