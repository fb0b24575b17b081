/* `rttlink fates`: prints what becomes of the packets of a link that is not there. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "cmd/rttlink_args.h"
#include "link/fates.h"
#include "link/profile.h"

struct fates_args {
	struct common_args common;
	int64_t seed;
	int64_t count;
	int direction; /* 0: up, 1: down, 2: both */
	int64_t interval_ns;
	int64_t size;
};

#define AT(member) offsetof(struct fates_args, member)

static const struct opt options[] = {
	{"seed", OPT_COUNT, AT(seed), "1", NULL, 0, 0, "that of the link"},
	{"count", OPT_COUNT, AT(count), "20", NULL, 1, INT64_C(1000000000), "packets each way"},
	{"direction", OPT_CHOICE, AT(direction), "both", "up|down|both", 0, 0, "whose"},
	{"interval", OPT_DURATION, AT(interval_ns), "10ms", NULL, 0, NS_PER_S,
		"from one to the next"},
	{"size", OPT_SIZE, AT(size), "100b", NULL, 1, 1500, "of each, with its IP header"},
	HELP_ROW,
	{0},
};

#define BOTH 2

static const char *const directions[] = {[UP] = "up", [DOWN] = "down"};
static const char *const fates[] = {
	[PACKET_LOST] = "lost",
	[PACKET_DROPPED] = "dropped",
	[PACKET_SENT] = "sent",
};

static void
print_fate(void *context, const struct fate *fate)
{
	const struct fates_args *args = context;

	if (args->direction != BOTH && args->direction != (int)fate->direction)
		return;
	printf("%s %" PRId64 " %s", directions[fate->direction], fate->number,
		fates[fate->fate]);
	if (fate->fate == PACKET_SENT)
		printf(" %" PRId64, fate->delay_ns);
	printf("%s%s%s\n", fate->marks & PACKET_COPY ? " duplicate" : "",
		fate->marks & PACKET_CORRUPTED ? " corrupted" : "",
		fate->marks & PACKET_REORDERED ? " reordered" : "");
}

static void
print_fates(const struct fates_args *args, const struct profile *profile)
{
	const struct fates_plan plan = {
		.profile = profile,
		.seed = (uint64_t)args->seed,
		.count = args->count,
		.interval_ns = args->interval_ns,
		.len = (uint32_t)args->size,
	};
	struct fates_args context = *args;

	printf("# %s, seed %" PRIu64 ": %" PRId64 " packets of %" PRId64
	       " bytes each way, %" PRId64 " ns apart\n"
	       "# direction, number, lost | dropped (full queue) | sent and its delay "
	       "in ns; duplicate (the copy), corrupted, reordered (sent ahead)\n",
		profile->name, plan.seed, args->count, args->size, args->interval_ns);
	fates_each(&plan, print_fate, &context);
}

static int
run(const void *given)
{
	const struct fates_args *args = given;
	const struct link_args link = {.profile = args->common.operands[0]};
	struct profile profile;
	struct err err;

	if (!link.profile) {
		err_set(&err, "'rttlink fates PROFILE': the profile is missing");
		return rttlink_fail(EXIT_USAGE, &err);
	}
	if (args_read_profile(&link, &profile, &err) < 0)
		return rttlink_fail(EXIT_USAGE, &err);
	print_fates(args, &profile);
	profile_free(&profile);
	return EXIT_OK;
}

const struct subcommand subcommand_fates = {
	.name = "fates",
	.summary = "say what becomes of the packets of a profile, without a link",
	.options = options,
	.args_size = sizeof(struct fates_args),
	.run = run,
	.help = "The same profile and seed do the same to the n-th packet of each direction on\n"
		"every machine, and on a link made with the backend tun. Prints a line a packet,\n"
		"and one more for its copy; needs no privileges.\n",
	.operand = "PROFILE",
};
