/* `rttlink up`: a link between two namespaces, until it is told to stop. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/proc.h"
#include "cmd/rttlink_args.h"
#include "link/profile.h"
#include "link/stop.h"
#include "stat/record.h"

struct up_args {
	struct common_args common;
	struct link_args link;
	struct ends_args ends;
	int64_t life_ns;
	bool hold;
};

#define AT(member) offsetof(struct up_args, member)

static const struct opt options[] = {
	LINK_ROWS(AT(link)),
	{"hold", OPT_FLAG, AT(hold), NULL, NULL, 0, 0,
		"no changes until stdin says 'go'; 'rest' undoes them"},
	ENDS_ROWS(AT(ends)),
	LIFE_ROW(AT(life_ns)),
	HELP_ROW,
	{0},
};

static void
print_info(const char *name, const char *text)
{
	record_info(stdout, name, "%s", text);
}

/* Does the link do this, a share in its paths, to packets of this direction at any time? */
static bool
does(const struct profile *profile, enum direction direction, size_t share)
{
	const char *path = (const char *)&profile->path[direction];
	bool any = *(const int64_t *)(path + share) > 0;

	for (size_t i = 0; i < profile->change_count; i++) {
		path = (const char *)&profile->changes[i].path[direction];
		any |= *(const int64_t *)(path + share) > 0;
	}
	return any;
}

static void
print_counters(const struct profile *profile, const struct link_counters *counters)
{
#define SHARE(member) offsetof(struct impairment, member)
	const struct {
		const char *name[DIRECTIONS];
		const int64_t *counts;
		size_t share; /* SIZE_MAX: counted on every link */
	} rows[] = {
		{{"up_packets", "down_packets"}, counters->packets, SIZE_MAX},
		{{"up_lost", "down_lost"}, counters->lost, SIZE_MAX},
		{{"up_dropped", "down_dropped"}, counters->dropped, SIZE_MAX},
		{{"up_missed", "down_missed"}, counters->missed, SIZE_MAX},
		{{"up_duplicated", "down_duplicated"}, counters->duplicated,
			SHARE(duplicate_ppm)},
		{{"up_corrupted", "down_corrupted"}, counters->corrupted, SHARE(corrupt_ppm)},
		{{"up_reordered", "down_reordered"}, counters->reordered, SHARE(reorder_ppm)},
	};

	for (enum direction i = UP; i < DIRECTIONS; i++)
		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
			if (rows[k].share == SIZE_MAX || does(profile, i, rows[k].share))
				record_count(stdout, rows[k].name[i], rows[k].counts[i]);
	fflush(stdout); /* removing devices takes the kernel some 40 ms: nobody should wait for
			   that */
}

static void
set_clock(struct link *link, bool runs)
{
	if (link->backend->clock)
		link->backend->clock(link, runs);
}

/* Do what stdin says to a link that holds its changes back. */
static void
obey(struct link *link, struct stop_words *words)
{
	char word[STOP_WORDS_SIZE];

	while (stop_next_word(words, word)) {
		bool go = !strcmp(word, "go");

		if (!go && strcmp(word, "rest"))
			continue;
		set_clock(link, go);
		record_info(stdout, "clock", "%s", word);
		fflush(stdout);
	}
}

/* Carry until we are told to stop. */
static int
carry(struct link *link, int stop, bool held, struct err *err)
{
	struct stop_words words = {.len = 0};
	int status;

	for (;;) {
		status = link->backend->run(link, stop, err);
		if (status || stop_hear(stop, &words))
			return status;
		if (held)
			obey(link, &words);
		else
			words.len = 0;
	}
}

/* Hold the open link until we are told to stop, then print what happened on it. */
static int
serve(struct link *link, int stop, bool held, struct err *err)
{
	struct link_counters counters = {0};
	int status;

	for (enum end end = NEAR; end < ENDS; end++) {
		const struct end_address *address = &link->ends[end];

		if (end_has_ipv6(&link->space[end], address))
			record_info(stdout, address->name, "%s/%d %s/%d", address->ipv4,
				LINK_PREFIX4, address->ipv6, LINK_PREFIX6);
		else
			record_info(stdout, address->name, "%s/%d, no IPv6 here", address->ipv4,
				LINK_PREFIX4);
	}
	printf("ready %s\n", link->ends[NEAR].ipv4);
	if (!held)
		set_clock(link, true);
	fflush(stdout);
	status = carry(link, stop, held, err);
	if (status == 0)
		status = link->backend->count(link, &counters, err);
	if (status == 0)
		print_counters(link->profile, &counters);
	return status;
}

/* Build the link, hold it, remove it. */
static int
hold(struct link *link, const struct up_args *args, struct err *err)
{
	int stop = stop_open(args->life_ns, err), status;

	if (stop < 0)
		return -1;
	proc_die_with_parent(getppid());
	record_info(stdout, "backend", "%s", link->backend->name);
	record_info(stdout, "seed", "%" PRIu64, link->seed);
	status = link->backend->open(link, err);
	if (status)
		return status;
	status = serve(link, stop, args->hold, err);
	link->backend->close(link);
	return status;
}

static int
run(const void *given)
{
	const struct up_args *args = given;
	struct profile profile = {0};
	struct link link = {
		.backend = args_backend(&args->link),
		.profile = &profile,
		.seed = (uint64_t)args->link.seed,
		.space = {SPACE_NONE, SPACE_NONE},
		.ends = end_addresses,
		.info = print_info,
	};
	struct err err;
	int status;

	if (args_read_profile(&args->link, &profile, &err) < 0 ||
		args_require_ends(&args->ends, &err) < 0)
		return rttlink_fail(EXIT_USAGE, &err);
	status = args_open_spaces(&args->ends, link.space, &err);
	if (status == 0)
		status = hold(&link, args, &err);
	args_close_spaces(link.space);
	profile_free(&profile);
	return status ? rttlink_fail(args_exit_status(status), &err) : EXIT_OK;
}

const struct subcommand subcommand_up = {
	.name = "up",
	.summary = "make a link and hold it until SIGTERM or the end of stdin",
	.options = options,
	.args_size = sizeof(struct up_args),
	.run = run,
	.help = "Prints what is in force, then 'ready ADDRESS'; at the end what happened to "
		"packets.\n"
		"With tun also how late packets left (lateness_*) and how long the emulator stood\n"
		"still (stall_max_ns; stalls: how often for more than 5 ms).\n"
		"The clock of a profile's changes and of its trace starts at 'ready'. With --hold\n"
		"it starts when a line 'go' comes on stdin, and a line 'rest' brings back the link\n"
		"as it was at first; each is answered with 'info clock go' or 'rest'.\n"
		"Try it:\n"
		"  sudo ip netns add a; sudo ip netns add b\n"
		"  sudo build/bin/rttlink up --profile netem/wan50.yaml --near /run/netns/a --far "
		"/run/netns/b\n"
		"and in another terminal\n"
		"  sudo ip netns exec a ping 198.18.0.2\n"
		"  sudo build/bin/rttlink check --near /run/netns/a --far /run/netns/b\n",
};
