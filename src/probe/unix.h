/* What both halves of the probe unix share. */
#ifndef PROBE_UNIX_H
#define PROBE_UNIX_H

#include <stdint.h>

#include "probe/local_path.h"
#include "probe/probe.h"

enum unix_pattern { PINGPONG, BULK };
enum unix_write { WRITE_ONE, WRITE_TWO };
enum unix_echo { ECHO_WHOLE, ECHO_PARTS };
enum unix_switch { ON, OFF };

struct unix_options {
	struct placement placement;
	int path; /* enum local_way */
	int pattern, write, echo, nodelay;
	int64_t size, bytes;
	const char *file;
};

/* The first byte of a message: its reply is discarded, or counts, or is the last. With the last
 * the server takes its count of context switches, before it replies. */
#define UNIX_WARM_UP 'w'
#define UNIX_MEASURED 'm'
#define UNIX_END 'x'

static inline struct local_path
unix_path(const struct unix_options *options)
{
	return (struct local_path){
		.way = (enum local_way)options->path,
		.nagle = options->nodelay == OFF,
		.file = options->file,
	};
}

/* The serving half. */
int unix_serve(const struct probe_call *call, struct err *err);

#endif
