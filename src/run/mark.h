/* The mark that everything of a run carries, so that what a killed runner left can be told from
 * what belongs to one that lives: processes in their environment, containers as a label. */
#ifndef RUN_MARK_H
#define RUN_MARK_H

#include <stdbool.h>

#define MARK_NAME "RTTMATRIX_RUN"

enum mark_state {
	MARK_LIVES,     /* its runner is there */
	MARK_DEAD,      /* its runner is gone */
	MARK_ELSEWHERE, /* made on another machine or in another PID namespace: not ours to
			   judge */
};

/* This process's mark: "PID:START:PIDNS:HOST", with the start in ticks since boot and the PID
 * namespace's inode. free() it. */
char *mark_make(void);

/* Put it into the environment of this process and so of all it starts. */
void mark_set(void);

enum mark_state mark_state(const char *mark);

/* When a process was started, in ticks since boot; 0 when there is none. */
unsigned long long mark_start_time(long pid);

#endif
