/* TCP sockets: made, connected, sent on and received from before a deadline, and asked what the
 * kernel knows of them.
 *
 * Every function that fails leaves the reason in errno as well: ETIME is the deadline. */
#ifndef NET_TCP_H
#define NET_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "net/addr.h"
#include "net/wait.h"

#define TCP_CONGESTION_SIZE 16

/* A non-blocking listening socket on `addr`; `bound` is the address with the real port. Returns
 * the descriptor, to be closed by the caller. */
int tcp_listen(const struct addr *addr, int backlog, struct addr *bound, struct err *err);

/* A socket with Nagle's algorithm off, blocking only for WAIT_BLOCK. Returns the descriptor. */
int tcp_socket(int family, enum wait_how how, struct err *err);

/* The same options on an accepted connection. */
int tcp_nodelay(int fd, struct err *err);

/* From now on close() sends a reset (SO_LINGER 0): no FIN, no TIME_WAIT. */
int tcp_linger_zero(int fd, struct err *err);

/* Send the SYN of a socket made for WAIT_POLL or WAIT_SPIN and don't wait. */
int tcp_connect_start(int fd, const struct addr *peer, struct err *err);

/* How that ended, once the socket is writable or in error. */
int tcp_connect_end(int fd, struct err *err);

/* Connect, or wait for the connection that tcp_connect_start() began. */
int tcp_connect(int fd, const struct addr *peer, const struct wait *wait, struct err *err);

/* Send all of it. */
int tcp_send(int fd, const void *bytes, size_t len, const struct wait *wait, struct err *err);

/* Receive what is there, at least one byte; 0 when the peer closed. */
ssize_t tcp_receive(int fd, void *bytes, size_t len, const struct wait *wait, struct err *err);

/* Receive exactly `len` bytes; a peer that closes before is an error with errno ECONNRESET. */
int tcp_receive_all(int fd, void *bytes, size_t len, const struct wait *wait, struct err *err);

/* Segments sent again on this connection so far, a SYN included. */
int tcp_retransmits(int fd, int64_t *count, struct err *err);

/* What this connection had the network carry so far: packets of both directions, and their
 * bytes with the headers of IP and TCP. SACK options, which only loss brings, are left out. */
int tcp_carried(int fd, int64_t *packets, int64_t *bytes, struct err *err);

/* The congestion control in force. */
int tcp_congestion(int fd, char out[static TCP_CONGESTION_SIZE], struct err *err);

/* Did the failure lie in the path or the peer (reset, timed out, unreachable), not in this
 * machine's resources, a refusal or the deadline? Such a sample is lost; the run goes on. */
bool tcp_lost(int error);

#endif
