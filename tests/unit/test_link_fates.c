/* The fates of the first 1000 packets of each impairment, held as checksums: seed and profile
 * fix them on every machine. The same for the tables behind them, which are also compared with
 * tc's own where they are installed. */
#include "check.h"

#include <stdlib.h>

#include "link/fates.h"
#include "link/spread.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FNV_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a over the bytes of `value`, the lowest first. */
static void
add(uint64_t *hash, int64_t value)
{
	for (int i = 0; i < 64; i += 8)
		*hash = (*hash ^ ((uint64_t)value >> i & 0xff)) * UINT64_C(0x100000001b3);
}

struct sums {
	uint64_t hash[DIRECTIONS];
	int64_t lines, not_sent, marked;
};

static void
take(void *context, const struct fate *fate)
{
	struct sums *sums = context;
	uint64_t *hash = &sums->hash[fate->direction];

	add(hash, fate->number);
	add(hash, fate->fate);
	add(hash, fate->delay_ns);
	add(hash, fate->marks);
	sums->lines++;
	sums->not_sent += fate->fate != PACKET_SENT;
	sums->marked += fate->marks != 0;
}

static struct sums
sums_of(const char *yaml, uint64_t seed)
{
	struct sums sums = {.hash = {FNV_START, FNV_START}};
	struct fates_plan plan = {
		.seed = seed, .count = 1000, .interval_ns = 1000000, .len = 500};
	struct profile profile;
	struct err err;
	char text[400];

	snprintf(text, sizeof(text), "schema: 1\nrtt: 20ms\n%s\n", yaml);
	if (profile_parse("fates", text, strlen(text), &profile, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		CU_FAIL("a profile of this test");
		return sums;
	}
	plan.profile = &profile;
	fates_each(&plan, take, &sums);
	profile_free(&profile);
	return sums;
}

static void
test_golden(void)
{
	static const struct {
		const char *yaml;
		uint64_t up, down;
	} rows[] = {
		{"", UINT64_C(0xbf01957505a07d40), UINT64_C(0xbf01957505a07d40)},
		{"jitter: 5ms", UINT64_C(0xa0db6ba32a8545c0), UINT64_C(0xbda387f8e55914c6)},
		{"jitter: 5ms\ndistribution: normal", UINT64_C(0xdebdd3c1b612c7db),
			UINT64_C(0xcda4bdde9d97155c)},
		{"jitter: 5ms\ndistribution: pareto", UINT64_C(0x4eca7a56b8a3eb39),
			UINT64_C(0xabf4828de8408b9c)},
		{"jitter: 5ms\ndistribution: paretonormal", UINT64_C(0x500b3930ab195678),
			UINT64_C(0x6b00d3c6ae8c6a2e)},
		{"loss: 5%", UINT64_C(0x60ec54ad56cfedf0), UINT64_C(0x8fd5858ed3b52bf0)},
		{"loss: 5%\nburst: 3", UINT64_C(0x03843fe310c47980),
			UINT64_C(0x86570f192c95e43c)},
		{"gemodel: {p: 2%, r: 20%, bad: 70%, good: 1%}", UINT64_C(0xfc3ce3353daf6330),
			UINT64_C(0x6022fec346e97714)},
		{"duplicate: 5%", UINT64_C(0x7319688bab873583), UINT64_C(0x911bb697ff3e5a1a)},
		{"corrupt: 5%", UINT64_C(0x81b909a69b5d8c3c), UINT64_C(0x45b71b477e1e61a0)},
		{"reorder: 10%", UINT64_C(0x3768dba57b740b00), UINT64_C(0x778e480909d701e2)},
		{"reorder: 50%\ngap: 5", UINT64_C(0xdde363d3d3449d70),
			UINT64_C(0x75e2625e711e705a)},
		{"rate: 3500kbit\nqueue: 20kib", UINT64_C(0xc398afe0cfb42c09),
			UINT64_C(0xc398afe0cfb42c09)},
		{"limit: 5", UINT64_C(0xafb281d640dc8d44), UINT64_C(0xafb281d640dc8d44)},
		{"changes: [{at: 300ms, rtt: 60ms}, {at: 600ms, loss: 100%}, {at: 700ms, loss: 5%}]",
			UINT64_C(0x6770342ed7efaf0c), UINT64_C(0xbdbf2ed7905e51fc)},
		{"up: {loss: 20%}\ndown: {jitter: 1ms}", UINT64_C(0x3bcbe4ad8fe0e844),
			UINT64_C(0x436aad1c0427ad8f)},
		{"jitter: 5ms\ndistribution: pareto\nloss: 2%\nburst: 4\nduplicate: 2%\ncorrupt: 2%\nreorder: 5%\nrate: 5mbit",
			UINT64_C(0x1b5b53c349a8025d), UINT64_C(0x44c5775141ef0e71)},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sums sums = sums_of(rows[i].yaml, 1);

		if (sums.hash[UP] != rows[i].up || sums.hash[DOWN] != rows[i].down)
			fprintf(stderr,
				"{\"%s\", UINT64_C(0x%016" PRIx64 "), UINT64_C(0x%016" PRIx64
				")},\n",
				rows[i].yaml, sums.hash[UP], sums.hash[DOWN]);
		CU_ASSERT(sums.hash[UP] == rows[i].up);
		CU_ASSERT(sums.hash[DOWN] == rows[i].down);
	}
}

static void
test_seed_and_direction(void)
{
	struct sums a = sums_of("loss: 10%", 1), b = sums_of("loss: 10%", 2),
		    plain = sums_of("", 1);

	CU_ASSERT(a.hash[UP] != a.hash[DOWN]);
	CU_ASSERT(a.hash[UP] != b.hash[UP]);
	CU_ASSERT(plain.hash[UP] == plain.hash[DOWN]);
	CHECK_INT(a.lines, 2000);
	CHECK_BETWEEN(a.not_sent, 200 - 45, 200 + 45);
	CHECK_INT(plain.not_sent, 0);
}

static void
test_copies_have_lines(void)
{
	struct sums sums = sums_of("duplicate: 10%", 1);

	CHECK_BETWEEN(sums.marked, 200 - 45, 200 + 45);
	CHECK_INT(sums.lines, 2000 + sums.marked);
	CHECK_INT(sums.not_sent, 0);
}

/* `name` as tc has it, or NULL. */
static FILE *
open_table(const char *name)
{
	static const char *const folders[] = {"/usr/lib/tc", "/usr/lib/x86_64-linux-gnu/tc",
		"/usr/lib/aarch64-linux-gnu/tc", "/usr/share/tc"};
	FILE *file = NULL;
	char path[100];

	for (size_t i = 0; i < COUNT(folders) && !file; i++) {
		snprintf(path, sizeof(path), "%s/%s.dist", folders[i], name);
		file = fopen(path, "r");
	}
	return file;
}

/* How many numbers there are; *most is how far one is from ours. */
static int
compare(FILE *file, const struct spread *table, int *most)
{
	char line[256];
	int count = 0;

	*most = 0;
	while (fgets(line, sizeof(line), file)) {
		char *text = line, *end;

		for (long value;
			line[0] != '#' && (value = strtol(text, &end, 10), end != text);
			text = end, count++) {
			int off = count < SPREAD_COUNT ? abs((int)value - table->values[count])
						       : 0;

			*most = off > *most ? off : *most;
		}
	}
	return count;
}

static void
test_tables(void)
{
	static const struct {
		const char *name;
		uint64_t hash;
	} rows[] = {
		[DISTRIBUTION_NORMAL] = {"normal", UINT64_C(0x2691f96e64aefa81)},
		[DISTRIBUTION_PARETO] = {"pareto", UINT64_C(0x502cebc461644ee8)},
		[DISTRIBUTION_PARETONORMAL] = {"paretonormal", UINT64_C(0x0eb759a7f4e3537b)},
	};

	CU_ASSERT_PTR_NULL(spread_of(DISTRIBUTION_UNIFORM));
	for (int d = DISTRIBUTION_NORMAL; d <= DISTRIBUTION_PARETONORMAL; d++) {
		const struct spread *table = spread_of((enum distribution)d);
		FILE *file = open_table(rows[d].name);
		uint64_t hash = FNV_START;
		int most;

		for (int k = 0; k < SPREAD_COUNT; k++)
			add(&hash, table->values[k]);
		if (hash != rows[d].hash)
			fprintf(stderr, "%s: 0x%016" PRIx64 "\n", rows[d].name, hash);
		CU_ASSERT(hash == rows[d].hash);
		if (!file)
			continue;
		CHECK_INT(compare(file, table, &most), SPREAD_COUNT);
		CHECK_BETWEEN(most, 0, 1);
		fclose(file);
	}
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"the first 1000 fates of each impairment", test_golden},
		{"seed and direction", test_seed_and_direction},
		{"copies have lines of their own", test_copies_have_lines},
		{"tables of distributions", test_tables},
		CU_TEST_INFO_NULL,
	};

	return check_main("link_fates", tests);
}
