/* netem: what tc's JSON shows of it, and what its counters mean. */
#include "check.h"

#include "base/clock.h"
#include "link/netem_shown.h"

#define US NS_PER_US
#define MS NS_PER_MS

/* As iproute2 6.1 on Linux 6.1 printed them. */
#define SHOWN                                                                                  \
	"[{\"kind\":\"netem\",\"handle\":\"8001:\",\"root\":true,\"refcnt\":2,\"options\":{"   \
	"\"limit\":24998,\"delay\":{\"delay\":0.01,\"jitter\":0.005,\"correlation\":0},"       \
	"\"rate\":{\"rate\":125000000000,\"packetoverhead\":-14,\"cellsize\":0,"               \
	"\"celloverhead\":0},\"ecn\":false,\"gap\":0}}]"
#define SHOWN_PLAIN                                                                            \
	"[{\"kind\":\"noqueue\",\"handle\":\"0:\",\"root\":true,\"refcnt\":2,\"options\":{}}]"
#define COUNTED                                                                                \
	"[{\"kind\":\"netem\",\"handle\":\"8009:\",\"root\":true,\"refcnt\":2,\"options\":{"   \
	"\"limit\":1000,\"ecn\":false,\"gap\":0},\"bytes\":480279080,\"packets\":321553,"      \
	"\"drops\":230,\"overlimits\":0,\"requeues\":0,\"backlog\":0,\"qlen\":0}]"

#define OPTIONS(text)                                                                          \
	"[{\"kind\":\"netem\",\"handle\":\"8001:\",\"root\":true,\"refcnt\":2,\"options\":{"   \
	"\"limit\":1000," text "\"ecn\":false,\"gap\":0}}]"
#define SHOWN_REORDER                                                                          \
	"[{\"kind\":\"netem\",\"handle\":\"8011:\",\"root\":true,\"refcnt\":2,\"options\":{"   \
	"\"limit\":1000,\"delay\":{\"delay\":0.001,\"jitter\":0.000499,\"correlation\":0},"    \
	"\"reorder\":{\"reorder\":0.25,\"correlation\":0},\"ecn\":false,\"gap\":5}}]"
#define SHOWN_BUCKET                                                                           \
	"[{\"kind\":\"netem\",\"handle\":\"1:\",\"root\":true,\"refcnt\":2,\"options\":{"      \
	"\"limit\":1000,\"ecn\":false,\"gap\":0},\"stab\":{\"overhead\":-14},"                 \
	"\"bytes\":84000,\"packets\":56,\"drops\":150},"                                       \
	"{\"kind\":\"tbf\",\"handle\":\"10:\",\"parent\":\"1:1\",\"options\":{"                \
	"\"rate\":1250000,\"burst\":\"1500b/1\",\"mpu\":0,\"lat\":51228,"                      \
	"\"linklayer\":\"ethernet\"},\"bytes\":84000,\"packets\":56,\"drops\":144}]"

static void
refused(const char *json, struct impairment path, const char *why)
{
	struct err err = {""};

	CHECK_INT(netem_confirm(json, &path, &err), -1);
	if (!strstr(err.text, why))
		CHECK_TEXT(err.text, why);
}

static void
test_confirm(void)
{
	struct impairment path = {
		.delay_ns = 10 * MS, .jitter_ns = 5 * MS, .limit_packets = 24998};
	struct err err = {""};

	CHECK_INT(netem_confirm(SHOWN, &path, &err), 0);
	CHECK_TEXT(err.text, "");
	path.limit_packets = 1000;
	refused(SHOWN, path, "shows a limit of 24998, expected 1000");
	path.limit_packets = 24998;
	path.delay_ns = 10 * US;
	refused(SHOWN, path, "shows a delay of 0.01, expected 1e-05");
	path.delay_ns = 10 * MS;
	path.jitter_ns = 0;
	refused(SHOWN, path, "shows a jitter of 0.005, expected 0");
	path.jitter_ns = 5 * MS;
	path.rate_bps = 8000;
	refused(SHOWN, path, "shows a rate in bytes/s of 1.25e+11, expected 1000");
	refused(SHOWN_PLAIN, path, "no netem");
}

/* Each is read back, and each is missed where tc does not show it. */
static void
test_confirm_each(void)
{
	static const struct {
		struct impairment path;
		const char *shown, *missed;
	} rows[] = {
		{{.loss_ppm = 1},
			OPTIONS("\"loss-random\":{\"loss\":1.00001e-06,\"correlation\":0},"),
			"a loss of 0, expected 1e-06"},
		{{.loss_ppm = 333333},
			OPTIONS("\"loss-random\":{\"loss\":0.333333,\"correlation\":0},"),
			"a loss of 0, expected 0.333333"},
		{{.bursts = true, .gemodel = {1, 101234567, 701234567, 1000000}},
			OPTIONS("\"loss-gemodel\":{\"p\":9.31323e-10,\"r\":0.101235,"
				"\"1-h\":0.701235,\"1-k\":0.001},"),
			"a p of its gemodel of 0, expected 1e-09"},
		{{.duplicate_ppm = 15000},
			OPTIONS("\"duplicate\":{\"duplicate\":0.015,\"correlation\":0},"),
			"a duplicate of 0, expected 0.015"},
		{{.corrupt_ppm = 15000},
			OPTIONS("\"corrupt\":{\"corrupt\":0.015,\"correlation\":0},"),
			"a corrupt of 0, expected 0.015"},
		{{.delay_ns = 250 * US},
			OPTIONS("\"delay\":{\"delay\":0.000249,\"jitter\":0,\"correlation\":0},"),
			"a delay of 0, expected 0.00025"},
		{{.limit_packets = 1000,
			 .delay_ns = MS,
			 .jitter_ns = 500 * US,
			 .reorder_ppm = 250000,
			 .reorder_gap = 5},
			SHOWN_REORDER, "a delay of 0, expected 0.001"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {""};

		CHECK_INT(netem_confirm(rows[i].shown, &rows[i].path, &err), 0);
		CHECK_TEXT(err.text, "");
		refused(OPTIONS(""), rows[i].path, rows[i].missed);
		/* And none that was not asked for. */
		refused(rows[i].shown, (struct impairment){0}, "expected 0");
	}
}

static void
test_confirm_parts(void)
{
	struct impairment bursts = {
		.bursts = true, .gemodel = {10000000, 100000000, 1000000000, 0}};
	struct impairment reorder = {.limit_packets = 1000,
		.delay_ns = MS,
		.jitter_ns = 500 * US,
		.reorder_ppm = 200000,
		.reorder_gap = 5};

	refused(OPTIONS("\"loss-gemodel\":{\"p\":0.01,\"r\":0.99,\"1-h\":1,\"1-k\":0},"),
		bursts, "a r of its gemodel of 0.99, expected 0.1");
	refused(OPTIONS("\"loss-gemodel\":{\"p\":0.01,\"r\":0.1,\"1-h\":0,\"1-k\":0},"), bursts,
		"a 1-h of its gemodel of 0, expected 1");
	refused(OPTIONS("\"loss-gemodel\":{\"p\":0.01,\"r\":0.1,\"1-h\":1,\"1-k\":1},"), bursts,
		"a 1-k of its gemodel of 1, expected 0");
	refused(SHOWN_REORDER, reorder, "a reorder of 0.25, expected 0.2");
	reorder.reorder_ppm = 250000;
	reorder.reorder_gap = 1;
	refused(SHOWN_REORDER, reorder, "a gap of 5, expected 1");
}

static void
test_confirm_bucket(void)
{
	struct impairment path = {.rate_bps = 10000000, .queue_bytes = 65536};
	struct err err = {""};

	path.limit_packets = 1000;
	CHECK_INT(netem_confirm(SHOWN_BUCKET, &path, &err), 0);
	CHECK_TEXT(err.text, "");
	path.queue_bytes = 64000;
	refused(SHOWN_BUCKET, path, "a tbf queue in us of 51228, expected 50000");
	path.queue_bytes = 65536;
	path.rate_bps = 9000000;
	refused(SHOWN_BUCKET, path, "a tbf rate in bytes/s of 1.25e+06, expected 1.125e+06");
	refused(OPTIONS(""), path, "no tbf");
}

static void
test_counters(void)
{
	struct netem_counters counters;
	struct err err;

	CHECK_INT(netem_read_counters(COUNTED, &counters, &err), 0);
	CHECK_INT(counters.packets, 321553);
	CHECK_INT(counters.drops, 230);
	CHECK_INT(counters.queue_drops, 0);
	CHECK_INT(netem_read_counters(SHOWN_BUCKET, &counters, &err), 0);
	CHECK_INT(counters.drops, 150);
	CHECK_INT(counters.queue_drops, 144);
	CHECK_INT(netem_read_counters(SHOWN_PLAIN, &counters, &err), -1);
	CU_ASSERT(!netem_has_seed(COUNTED));
	CU_ASSERT(netem_has_seed("{\"kind\":\"netem\",\"seed\":12}"));
}

static void
test_explained(void)
{
	const struct impairment none = {0}, some = {.loss_ppm = 10000};

	CHECK_INT(netem_explained(1000, 3, &none), 0);
	CHECK_INT(netem_explained(1000, 0, &none), 0);
	CHECK_INT(netem_explained(10000, 134, &some), 134);
	CHECK_INT(netem_explained(10000, 100, &some), 100);
	CHECK_INT(netem_explained(100, 3, &some), 3);
	/* A queue that overflowed besides. */
	CHECK_BETWEEN(netem_explained(10000, 1000, &some), 130, 140);
}

/* The 99.9% quantiles of a simulation of the two states, 1500 to 6000 runs each. */
static void
test_explained_bursts(void)
{
	static const struct {
		int64_t packets, loss_ppm;
		struct gemodel model;
		int64_t quantile;
	} rows[] = {
		{100, 10000, {2525253, 250000000, 1000000000, 0}, 20},
		{1000, 10000, {2525253, 250000000, 1000000000, 0}, 49},
		{1000, 50000, {17543860, 333333333, 1000000000, 0}, 105},
		{300, 20000, {2040816, 100000000, 1000000000, 0}, 75},
		{3000, 20000, {2040816, 100000000, 1000000000, 0}, 196},
		{1000, 54545, {20000000, 200000000, 500000000, 10000000}, 102},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct impairment path = {
			.loss_ppm = rows[i].loss_ppm, .bursts = true, .gemodel = rows[i].model};
		int64_t most = netem_explained(rows[i].packets, rows[i].packets, &path);

		CHECK_BETWEEN(most, rows[i].quantile, rows[i].quantile * 115 / 100 + 1);
	}
}

static void
test_offered(void)
{
	const struct impairment plain = {.loss_ppm = 100000}, twice = {.duplicate_ppm = 200000},
				both = {.duplicate_ppm = 200000, .loss_ppm = 500000};

	CHECK_INT(netem_offered(1234, &plain), 1234);
	CHECK_INT(netem_offered(1200, &twice), 1000);
	CHECK_INT(netem_offered(1100, &both), 1000);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"confirm", test_confirm},
		{"confirm each", test_confirm_each},
		{"confirm parts", test_confirm_parts},
		{"confirm a bucket", test_confirm_bucket},
		{"counters", test_counters},
		{"explained losses", test_explained},
		{"explained bursts", test_explained_bursts},
		{"offered", test_offered},
		CU_TEST_INFO_NULL,
	};

	return check_main("netem_shown", tests);
}
