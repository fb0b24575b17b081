/* The parts of probe-backlog: its options, what its halves say to each other, and the two
 * patterns of its client.
 *
 *   client                                        server
 *   | -- control connection, at the address of the contract: -->  | accepted as usual
 *   | -- open --------------------------------------------------> | listens at another port
 *   | <------------------- port, backlog in force, somaxconn ---- |
 *   | == the connections that are measured, to that port =======> | nobody accepts
 *   | -- drain (or pace) ---------------------------------------> | accepts them
 *   | <--------------------- queue length, moment --------------- |
 *   | -- close -------------------------------------------------> | closes and counts
 * A control connection of the listener that is measured would take a place in its queue. */
#ifndef PROBE_BACKLOG_H
#define PROBE_BACKLOG_H

#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"

enum backlog_pattern { BACKLOG_FILL, BACKLOG_RACE, BACKLOG_BURST };
enum backlog_socket { BACKLOG_TCP, BACKLOG_UNIX };

struct backlog_options {
	struct placement placement;
	const char *backlog;
	int pattern; /* enum backlog_pattern */
	int socket;  /* enum backlog_socket */
	int abort;   /* 0 off, 1 on */
	int64_t hold;
	int64_t accept_every;
};

/* A count, or "somaxconn": the largest there is, so that the kernel's limit decides. */
int backlog_parse(const char *text, int *backlog, struct err *err);

/* A request on the control connection is one of these letters. */
enum backlog_word {
	BACKLOG_OPEN = 'o',
	BACKLOG_DRAIN = 'd',
	BACKLOG_PACE = 'p',
	BACKLOG_CLOSE = 'c',
};

/* Its reply: so many bytes, filled up with zeros: "ok N N N", or "no " and the reason. */
#define BACKLOG_REPLY_SIZE 576
#define BACKLOG_NUMBERS 3

void backlog_reply_write(char reply[static BACKLOG_REPLY_SIZE],
	const int64_t numbers[static BACKLOG_NUMBERS], const struct err *err);

/* -1, with the reason, when the other half said no or something else. */
int backlog_reply_read(const char reply[static BACKLOG_REPLY_SIZE],
	int64_t numbers[static BACKLOG_NUMBERS], struct err *err);

/* A client and the queue that its server has open for it. */
struct backlog_client {
	const struct probe_call *call;
	const struct backlog_options *options;
	struct wait wait; /* never blocking */
	int control;
	int64_t rtt_ns; /* the shortest exchange on the control connection */
	int64_t place, backlog, somaxconn;
	struct addr peer; /* the queue's, if TCP */
};

/* Ask, and wait for the reply. */
int backlog_ask(struct backlog_client *client, enum backlog_word word,
	int64_t numbers[static BACKLOG_NUMBERS], struct err *err);

/* Have a queue opened, and learn where. */
int backlog_open(struct backlog_client *client, struct err *err);

/* Have it closed. */
int backlog_close(struct backlog_client *client, struct err *err);

/* Put in front of an error that a limit of this process or machine explains how many
 * connections there were, and behind it the limit. -1. */
int backlog_limit(int error, size_t count, struct err *err);

/* Close with a reset, which leaves no socket in TIME_WAIT. */
void backlog_reset(int fd);

/* The patterns: measure, then print. */
int backlog_fill(struct backlog_client *client, struct err *err);
int backlog_burst(struct backlog_client *client, struct err *err);

#endif
