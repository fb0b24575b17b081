/* A serving half that echoes messages and notices which of them came in parts, the rest only
 * after a delayed ACK.
 *
 * A message is a stall when the server saw all of this: it had read a part of it; its socket
 * sent an ACK without data before the rest came; and the kernel counted a delayed-ACK timer
 * that fired (TcpExt DelayedACKs of this network namespace). No length of time decides. */
#ifndef PROBE_PART_ECHO_H
#define PROBE_PART_ECHO_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/probe.h"

/* What a message begins with: is it to be echoed? */
#define PART_ECHO_YES 'e'
#define PART_ECHO_NO 'n'

/* When the server sets TCP_QUICKACK, in the order of the option `quickack=default|once|each`.
 */
enum quickack {
	QUICKACK_DEFAULT, /* never */
	QUICKACK_ONCE,    /* when a connection's first bytes have been read */
	QUICKACK_EACH,    /* after each read that found only a part of a message */
};

/* Serve messages of `size` bytes and print the counters connections, messages, stalls and
 * delayed_acks. 0, -1 or PROBE_UNSUPPORTED. */
int part_echo_serve(const struct probe_call *call, size_t size, enum quickack quickack,
	enum wait_how wait, struct err *err);

#endif
