/* Options that several subcommands of rttlink take, and what these stand for. Of the rows, `at`
 * is the offset of the member they fill. */
#ifndef CMD_RTTLINK_ARGS_H
#define CMD_RTTLINK_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opts.h"
#include "cmd/rttlink.h"
#include "link/backend.h"
#include "link/ends.h"
#include "link/space.h"

struct profile;

enum { BACKENDS = 2 };
extern const struct backend *const backends[BACKENDS];

struct link_args {
	const char *profile;
	const char *yaml;
	const char *backend;
	int64_t seed;
};

struct ends_args {
	const char *where[ENDS];
};

#define LINK_ROWS(at)                                                                          \
	{"profile", OPT_TEXT, (at) + offsetof(struct link_args, profile), NULL, "FILE", 0, 0,  \
		"what the link is like"},                                                      \
		{"yaml", OPT_TEXT, (at) + offsetof(struct link_args, yaml), NULL, "TEXT", 0,   \
			0, "the same as text, instead of a file"},                             \
		{"backend", OPT_WORD, (at) + offsetof(struct link_args, backend), "tun",       \
			"netem|tun", 0, 0, "what shapes it"},                                  \
	{                                                                                      \
		"seed", OPT_COUNT, (at) + offsetof(struct link_args, seed), "1", NULL, 0, 0,   \
			"the same seed loses the same packets"                                 \
	}

#define ENDS_ROWS(at)                                                                          \
	{"near", OPT_TEXT, (at) + offsetof(struct ends_args, where[NEAR]), NULL,               \
		"NSPATH|agent:PATH", 0, 0, "the client's network namespace"},                  \
	{                                                                                      \
		"far", OPT_TEXT, (at) + offsetof(struct ends_args, where[FAR]), NULL,          \
			"NSPATH|agent:PATH", 0, 0, "the server's network namespace"            \
	}

/* Nanoseconds; 0: no end of its own. */
#define LIFE_ROW(at)                                                                           \
	{                                                                                      \
		"deadline", OPT_DURATION, at, NULL, NULL, 0, 0,                                \
			"end by itself after this long (default: never)"                       \
	}

#define HELP_ROW                                                                               \
	{                                                                                      \
		"help", OPT_FLAG, offsetof(struct common_args, help), NULL, NULL, 0, 0,        \
			"this text"                                                            \
	}

/* -1 with an error that names the option when it has no value. */
int args_require(const char *value, const char *name, struct err *err);

/* The one that was asked for. */
const struct backend *args_backend(const struct link_args *args);

/* Read the profile of a link from the file, or from the text if there is one. -1 when it can't
 * be read, is no link, or both or none are given; else profile_free() it. */
int args_read_profile(const struct link_args *args, struct profile *profile, struct err *err);

/* -1 when one of them is not given. */
int args_require_ends(const struct ends_args *args, struct err *err);

/* Open both network namespaces; `space` is SPACE_NONE before. Close them also on failure. */
int args_open_spaces(
	const struct ends_args *args, struct space space[static ENDS], struct err *err);
void args_close_spaces(struct space space[static ENDS]);

/* What to exit with when a link function returned `status`, not 0. */
int args_exit_status(int status);

#endif
