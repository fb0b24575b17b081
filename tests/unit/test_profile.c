/* Profiles: the keys, the halves of a round trip, the refusals. */
#include "link/profile.h"

#include <stdlib.h>

#include "base/clock.h"
#include "check.h"

#define MS NS_PER_MS
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *
parse(const char *text, struct profile *profile)
{
	static struct err err;

	if (profile_parse("netem/p.yaml", text, strlen(text), profile, &err) < 0)
		return err.text;
	return "read";
}

static void
test_rtt(void)
{
	struct profile profile;

	CHECK_TEXT(parse("schema: 1\nrtt: 50ms\n", &profile), "read");
	CHECK_TEXT(profile.name, "p");
	CHECK_TEXT(profile.file, "netem/p.yaml");
	CHECK_TEXT(profile.text, "schema: 1\nrtt: 50ms\n");
	CHECK_INT(profile.loopback, 0);
	CHECK_INT(profile.path[UP].delay_ns, 25 * MS);
	CHECK_INT(profile.path[DOWN].delay_ns, 25 * MS);
	CHECK_INT(profile_rtt_ns(&profile), 50 * MS);
	CHECK_INT(profile.path[UP].jitter_ns | profile.path[UP].loss_ppm |
			  profile.path[UP].rate_bps | profile.path[UP].limit_packets,
		0);
	profile_free(&profile);
	CHECK_TEXT(parse("{schema: '1', rtt: '7ns'}", &profile), "read");
	CHECK_INT(profile.path[UP].delay_ns, 4);
	CHECK_INT(profile.path[DOWN].delay_ns, 3);
	profile_free(&profile);
	CHECK_TEXT(parse("{schema: 1, rtt: 0ms}", &profile), "read");
	CHECK_INT(profile_rtt_ns(&profile), 0);
	CHECK_INT(profile.loopback, 0);
	profile_free(&profile);
}

static void
test_directions(void)
{
	struct profile profile;

	CHECK_TEXT(
		parse("schema: 1\nrtt: 40ms\njitter: 2ms\nloss: 1%\nrate: 10mbit\nlimit: 50\n"
		      "up: {loss: 0%, rate: 1mbit}\ndown: {jitter: 20ms, limit: 9}\n",
			&profile),
		"read");
	CHECK_INT(profile.path[UP].jitter_ns, 2 * MS);
	CHECK_INT(profile.path[UP].loss_ppm, 0);
	CHECK_INT(profile.path[UP].rate_bps, 1000000);
	CHECK_INT(profile.path[UP].limit_packets, 50);
	CHECK_INT(profile.path[DOWN].jitter_ns, 20 * MS);
	CHECK_INT(profile.path[DOWN].loss_ppm, 10000);
	CHECK_INT(profile.path[DOWN].rate_bps, 10000000);
	CHECK_INT(profile.path[DOWN].limit_packets, 9);
	profile_free(&profile);
	CHECK_TEXT(
		parse("schema: 1\nup: {delay: 10ms}\ndown: {delay: 30ms}\n", &profile), "read");
	CHECK_INT(profile.path[UP].delay_ns, 10 * MS);
	CHECK_INT(profile.path[DOWN].delay_ns, 30 * MS);
	CHECK_INT(profile_rtt_ns(&profile), 40 * MS);
	profile_free(&profile);
}

static void
test_loopback(void)
{
	struct profile profile;

	CHECK_TEXT(parse("{schema: 1, loopback: true}", &profile), "read");
	CHECK_INT(profile.loopback, 1);
	CHECK_INT(profile_rtt_ns(&profile), 0);
	profile_free(&profile);
	CHECK_TEXT(parse("{schema: 1, loopback: false, rtt: 1ms}", &profile), "read");
	CHECK_INT(profile.loopback, 0);
	profile_free(&profile);
}

static void
test_refusals(void)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"schema: 1\nrtt: 50\n",
			"netem/p.yaml:2:6: key 'rtt': duration '50' has no unit: expected one "
			"such as 50ms, 500us or 1.5s"},
		{"schema: 1\nrtt: \"50\"\n",
			"netem/p.yaml:2:6: key 'rtt': duration '50' has no unit: expected one "
			"such as 50ms, 500us or 1.5s"},
		{"schema: 1\nrtt: 50ms\nrate: 10\n", "netem/p.yaml:3:7: key 'rate': rate '10' "
						     "has no unit: expected one such "
						     "as 10mbit, 500kbit or 1gbit"},
		{"schema: 1\nrtt: 50ms\nloss: 1\n", "netem/p.yaml:3:7: key 'loss': percentage "
						    "'1' has no unit: expected one "
						    "such as 1% or 0.5%"},
		{"schema: 1\nrtt: 50ms\nloss: 150%\n",
			"netem/p.yaml:3:7: key 'loss': '150%' is out of range: expected 0% to "
			"100%"},
		{"schema: 1\nrtt: 50ms\nup:\n  loss: '150%'\n",
			"netem/p.yaml:4:9: key 'loss': '150%' is out of range: expected 0% to "
			"100%"},
		{"schema: 1\nrtt: 50ms\njitter: 30ms\n",
			"netem/p.yaml:3:9: key 'jitter': 30ms is larger than the delay of 25ms "
			"(one way, up)"},
		{"schema: 1\nrtt: 50ms\njitter: \"30ms\"\n",
			"netem/p.yaml:3:9: key 'jitter': 30ms is larger than the delay of 25ms "
			"(one way, up)"},
		{"schema: 1\nup: {delay: 9ms}\ndown: {delay: 1ms, jitter: 2ms}\n",
			"netem/p.yaml:3:28: key 'jitter': 2ms is larger than the delay of 1ms "
			"(one way, down)"},
		{"schema: 1\nrtt: 50ms\nup: {delay: 25ms}\n",
			"netem/p.yaml:3:6: 'rtt' and 'delay' together: the round trip is one "
			"or "
			"the other"},
		{"schema: 1\ndelay: 25ms\n",
			"netem/p.yaml:2:1: key 'delay' is one way and stands under 'up' and "
			"'down'; 'rtt' is the whole round trip"},
		{"schema: 1\nup: {delay: 25ms}\n", "netem/p.yaml:1:1: no delay down: expected "
						   "'rtt', or 'delay' under both "
						   "'up' and 'down', or 'loopback: true'"},
		{"schema: 1\nloss: 1%\n",
			"netem/p.yaml:1:1: no delay up: expected 'rtt', or 'delay' under both "
			"'up' and 'down', or 'loopback: true'"},
		{"rtt: 50ms\n", "netem/p.yaml:1:1: key 'schema' is missing"},
		{"schema: 2\nrtt: 50ms\n",
			"netem/p.yaml:1:9: key 'schema': '2' is not supported: expected 1"},
		{"schema: 1\nrtt: 61s\n", "netem/p.yaml:2:6: key 'rtt': '61s' is out of range: "
					  "expected 0ns to 60s"},
		{"schema: 1\nrtt: 50ms\nrate: 0bit\n", "netem/p.yaml:3:7: key 'rate': '0bit' "
						       "is out of range: expected 1kbit to "
						       "100gbit"},
		{"schema: 1\nrtt: 50ms\nlimit: 0\n",
			"netem/p.yaml:3:8: key 'limit': '0' is out of range: expected 1 to "
			"1000000"},
		{"schema: 1\nrtt: 50ms\njiter: 1ms\n",
			"netem/p.yaml:3:1: unknown key 'jiter': did you mean 'jitter'?"},
		{"schema: 1\nrtt: 50ms\nburst: 3\n",
			"netem/p.yaml:3:1: unknown key 'burst': known are schema, rtt, jitter, "
			"loss, rate, limit, up, down, loopback"},
		{"schema: 1\nrtt: 50ms\nup: {reorder: 1%}\n",
			"netem/p.yaml:3:6: unknown key 'reorder': known are delay, jitter, "
			"loss, "
			"rate, limit"},
		{"schema: 1\nrtt: 50ms\nrtt: 60ms\n",
			"netem/p.yaml:3:1: duplicate key 'rtt', first on line 2"},
		{"schema: 1\nloopback: true\nrtt: 1ms\n",
			"netem/p.yaml:3:1: key 'rtt': with 'loopback: true' there is no link "
			"to "
			"shape"},
		{"schema: 1\nup: 25ms\n",
			"netem/p.yaml:2:5: key 'up': expected a mapping, not text"},
		{"", "netem/p.yaml:1:1: the file is empty"},
	};
	struct profile profile;

	for (size_t i = 0; i < COUNT(rows); i++)
		CHECK_TEXT(parse(rows[i].text, &profile), rows[i].message);
}

static void
test_read(void)
{
	struct err err = {""};
	struct profile profile;

	CHECK_INT(profile_read("/nonexistent/x.yaml", &profile, &err), -1);
	CHECK_TEXT(err.text, "open /nonexistent/x.yaml: No such file or directory");
	CHECK_INT(profile_read("/", &profile, &err), -1);
	CHECK_TEXT(err.text, "read /: Is a directory");
}

static void
test_limit(void)
{
	struct impairment path = {.delay_ns = 50 * MS};

	/* 10 Gbit/s are 833,333 packets a second. */
	CHECK_BETWEEN(impairment_limit(&path), 83000, 84000);
	path.rate_bps = 1000000000; /* accuracy.md: 1 Gbit/s at 100 ms needs at least 6250 */
	path.delay_ns = 100 * MS;
	CHECK_BETWEEN(impairment_limit(&path), 16600, 16700);
	path.rate_bps = 1000000;
	CHECK_INT(impairment_limit(&path), 1000);
	path = (struct impairment){.delay_ns = 60 * NS_PER_S, .jitter_ns = 60 * NS_PER_S};
	CHECK_INT(impairment_limit(&path), 1000000);
	path.rate_bps = INT64_C(100000000000);
	CHECK_INT(impairment_limit(&path), 1000000);
	path.limit_packets = 7;
	CHECK_INT(impairment_limit(&path), 7);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"rtt is split in half", test_rtt},
		{"up and down win over both", test_directions},
		{"loopback", test_loopback},
		{"what is refused, in which words", test_refusals},
		{"files that are none", test_read},
		{"the queue holds what is in flight", test_limit},
		CU_TEST_INFO_NULL,
	};

	return check_main("profile", tests);
}
