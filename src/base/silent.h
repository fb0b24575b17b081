/* A peer that never answers: a listening TCP socket that nobody accepts on and a UDP socket
 * that nobody reads, at one address of the loopback. */
#ifndef BASE_SILENT_H
#define BASE_SILENT_H

#include "base/err.h"

struct silent {
	int tcp, udp;
	char addr[32]; /* "127.0.0.1:40001" */
};

/* Open one in the present network namespace. -1 with the reason. */
int silent_open(struct silent *silent, struct err *err);

void silent_close(struct silent *silent);

#endif
