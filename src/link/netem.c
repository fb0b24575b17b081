/* netem through tc(8): arguments and error texts. */
#include "link/netem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* netem delays each packet by itself and sorts them by due time, so jitter reorders; a child
 * qdisc does not help, it only comes behind the sorting. But a packet that has to be serialised
 * starts after the one ahead of it (netem_enqueue() in net/sched/sch_netem.c), so a rate keeps
 * order, and one this high (12 ns for a full packet) does nothing else. */
#define ORDER_RATE_BPS INT64_C(1000000000000)

/* A profile's rate is that of IP packets; qdiscs would also count the Ethernet header. */
#define RATE_OVERHEAD "-14"

/* A bucket holds one full packet: the largest that may go out without waiting. At high rates
 * also what falls due while the kernel's timer is late, or that share of the rate is gone. */
#define BUCKET_BYTES 1500
#define TIMER_LATE_NS (100 * NS_PER_US)

#define PPM_OF_PERCENT 10000
#define PPB_OF_PERCENT 10000000

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Appends words to an argument list. */
struct writer {
	const char **at;
	char (*text)[NETEM_TEXT];
};

static void
add(struct writer *writer, const char *word)
{
	*writer->at++ = word;
}

__attribute__((format(printf, 2, 3))) static void
add_number(struct writer *writer, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(*writer->text, NETEM_TEXT, fmt, args);
	va_end(args);
	add(writer, *writer->text++);
}

/* Decimals of `value` / `unit`, without trailing zeros. */
static void
add_decimal(struct writer *writer, int64_t value, int64_t unit, int digits, const char *suffix)
{
	char decimals[16] = "";

	if (value % unit) {
		int len = snprintf(
			decimals, sizeof(decimals), ".%0*d", digits, (int)(value % unit));

		while (decimals[len - 1] == '0')
			decimals[--len] = '\0';
	}
	add_number(writer, "%" PRId64 "%s%s", value / unit, decimals, suffix);
}

static void
add_us(struct writer *writer, int64_t ns)
{
	add_decimal(writer, ns, NS_PER_US, 3, "us");
}

/* `word` and a share of packets, if there is one. */
static void
add_share(struct writer *writer, const char *word, int64_t ppm)
{
	if (!ppm)
		return;
	add(writer, word);
	add_decimal(writer, ppm, PPM_OF_PERCENT, 4, "%");
}

int64_t
netem_rate_bps(const struct impairment *path)
{
	if (path->rate_bps && !path->queue_bytes)
		return path->rate_bps;
	return path->jitter_ns && !path->reorder_ppm ? ORDER_RATE_BPS : 0;
}

int64_t
netem_bucket_bytes(const struct impairment *path)
{
	int64_t late = path->rate_bps / 8 * TIMER_LATE_NS / NS_PER_S;

	if (!path->rate_bps || !path->queue_bytes)
		return 0;
	return late > BUCKET_BYTES ? late : BUCKET_BYTES;
}

static void
add_delay(struct writer *writer, const struct impairment *path)
{
	/* tc has no table for `uniform`: that is what it does without one. */
	static const char *const tables[] = {
		[DISTRIBUTION_UNIFORM] = NULL,
		[DISTRIBUTION_NORMAL] = "normal",
		[DISTRIBUTION_PARETO] = "pareto",
		[DISTRIBUTION_PARETONORMAL] = "paretonormal",
	};

	if (!path->delay_ns)
		return;
	add(writer, "delay");
	add_us(writer, path->delay_ns);
	if (!path->jitter_ns)
		return;
	add_us(writer, path->jitter_ns);
	if (tables[path->distribution]) {
		add(writer, "distribution");
		add(writer, tables[path->distribution]);
	}
}

static void
add_loss(struct writer *writer, const struct impairment *path)
{
	/* All four: tc's default for r is 1 - p, and not 0 or 100% for what the states lose. */
	const int64_t gemodel[] = {path->gemodel.to_bad_ppb, path->gemodel.to_good_ppb,
		path->gemodel.bad_loss_ppb, path->gemodel.good_loss_ppb};

	if (!path->bursts) {
		add_share(writer, "loss", path->loss_ppm);
		return;
	}
	add(writer, "loss");
	add(writer, "gemodel");
	for (size_t i = 0; i < COUNT(gemodel); i++)
		add_decimal(writer, gemodel[i], PPB_OF_PERCENT, 7, "%");
}

static void
start(struct writer *writer, struct netem_args *args, const char *device)
{
	*writer = (struct writer){args->argv, args->texts};
	add(writer, "tc");
	add(writer, "qdisc");
	add(writer, "add");
	add(writer, "dev");
	add(writer, device);
}

static void
write_netem(const char *device, const struct impairment *path, const uint64_t *seed,
	struct netem_args *args)
{
	struct writer writer;

	start(&writer, args, device);
	add(&writer, "root");
	if (netem_bucket_bytes(path)) {
		static const char *const words[] = {
			"handle", "1:", "stab", "overhead", RATE_OVERHEAD};

		/* The size that the root takes a packet for is the one its child sees. */
		for (size_t i = 0; i < COUNT(words); i++)
			add(&writer, words[i]);
	}
	add(&writer, "netem");
	add(&writer, "limit");
	add_number(&writer, "%" PRId64, impairment_limit(path));
	add_delay(&writer, path);
	add_loss(&writer, path);
	add_share(&writer, "duplicate", path->duplicate_ppm);
	add_share(&writer, "corrupt", path->corrupt_ppm);
	if (path->reorder_ppm) {
		add_share(&writer, "reorder", path->reorder_ppm);
		add(&writer, "gap");
		add_number(&writer, "%" PRId64, path->reorder_gap);
	}
	if (netem_rate_bps(path)) {
		add(&writer, "rate");
		add_number(&writer, "%" PRId64 "bit", netem_rate_bps(path));
		add(&writer, RATE_OVERHEAD);
	}
	if (seed) {
		add(&writer, "seed");
		add_number(&writer, "%" PRIu64, *seed);
	}
	add(&writer, NULL);
}

static void
write_bucket(const char *device, const struct impairment *path, struct netem_args *args)
{
	static const char *const words[] = {"parent", "1:1", "handle", "10:", "tbf", "rate"};
	struct writer writer;

	start(&writer, args, device);
	for (size_t i = 0; i < COUNT(words); i++)
		add(&writer, words[i]);
	add_number(&writer, "%" PRId64 "bit", path->rate_bps);
	add(&writer, "burst");
	add_number(&writer, "%" PRId64, netem_bucket_bytes(path));
	add(&writer, "limit");
	add_number(&writer, "%" PRId64, path->queue_bytes);
	add(&writer, NULL);
}

int
netem_commands(const char *device, const struct impairment *path, const uint64_t *seed,
	struct netem_args commands[static NETEM_COMMANDS_MAX])
{
	write_netem(device, path, seed, &commands[0]);
	if (!netem_bucket_bytes(path))
		return 1;
	write_bucket(device, path, &commands[1]);
	return 2;
}

enum netem_fault
netem_fault(const char *words)
{
	static const struct {
		const char *words;
		enum netem_fault fault;
	} spellings[] = {
		/* "netem: cannot mix duplicating netems with other netems in tree" */
		{"duplicating", NETEM_NO_DUPLICATES},
		{"No distribution data", NETEM_NO_TABLE},
		{"What is \"", NETEM_UNKNOWN_WORD},
		{"Specified qdisc kind is unknown", NETEM_NO_QDISC},
		{"Specified qdisc not found", NETEM_NO_QDISC},
		{"No such file or directory", NETEM_NO_QDISC},
		{"Operation not supported", NETEM_NO_QDISC},
		{"Operation not permitted", NETEM_NO_PRIVILEGE},
		{"Invalid argument", NETEM_REFUSED},
		{"Numerical result out of range", NETEM_REFUSED},
	};

	for (size_t i = 0; i < COUNT(spellings); i++)
		if (strstr(words, spellings[i].words))
			return spellings[i].fault;
	return NETEM_OTHER;
}
