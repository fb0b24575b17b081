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
			"netem/p.yaml:3:1: key 'burst': of what? 'loss' is missing"},
		{"schema: 1\nrtt: 50ms\nup: {lose: 1%}\n",
			"netem/p.yaml:3:6: unknown key 'lose': did you mean 'loss'?"},
		{"schema: 1\nrtt: 50ms\nloss: 80%\nburst: 3\n",
			"netem/p.yaml:4:8: key 'burst': bursts of 3 can't lose 80% of all "
			"packets: at most 3 of 4, or leave 'burst' out"},
		{"schema: 1\nrtt: 50ms\nloss: 1%\ngemodel: {p: 1%, r: 30%}\n",
			"netem/p.yaml:4:1: 'gemodel' says all about loss: leave out 'loss' "
			"and 'burst'"},
		{"schema: 1\nrtt: 50ms\ngemodel: {p: 1%}\n",
			"netem/p.yaml:3:10: key 'r' is missing"},
		{"schema: 1\nrtt: 50ms\ndistribution: normal\n",
			"netem/p.yaml:3:1: key 'distribution': of what? 'jitter' is missing"},
		{"schema: 1\nrtt: 50ms\njitter: 1ms\ndistribution: parto\n",
			"netem/p.yaml:4:15: unknown distribution 'parto': did you mean "
			"'pareto'?"},
		{"schema: 1\nrtt: 50ms\ngap: 3\n",
			"netem/p.yaml:3:1: key 'gap': of what? 'reorder' is missing"},
		{"schema: 1\nrtt: 0ms\nreorder: 3%\n",
			"netem/p.yaml:3:1: key 'reorder': without a delay (up) nothing can be "
			"overtaken"},
		{"schema: 1\nrtt: 50ms\nqueue: 64kib\n",
			"netem/p.yaml:3:1: key 'queue': without a 'rate' (or 'trace') nothing "
			"queues"},
		{"schema: 1\nrtt: 50ms\nrate: 1mbit\nqueue: 64\n",
			"netem/p.yaml:4:8: key 'queue': size '64' has no unit: expected one "
			"such as 64b, 64kib or 1mib"},
		{"schema: 1\nrtt: 50ms\ntrace: absent\n",
			"netem/p.yaml:3:8: key 'trace': open netem/absent: No such file or "
			"directory"},
		{"schema: 1\nrtt: 50ms\ntrace: ../t\n",
			"netem/p.yaml:3:8: key 'trace': '../t': expected the name of a file "
			"beside the profile"},
		{"schema: 1\nrtt: 50ms\nchanges: [{rtt: 60ms}]\n",
			"netem/p.yaml:3:11: key 'at' is missing"},
		{"schema: 1\nrtt: 50ms\nchanges: [{at: 2s, loss: 1%}, {at: 2s, loss: 2%}]\n",
			"netem/p.yaml:3:36: key 'at': not after the change above"},
		{"schema: 1\nrtt: 50ms\nchanges: [{at: 2s, jitter: 26ms}]\n",
			"netem/p.yaml:3:28: key 'jitter': 26ms is larger than the delay of "
			"25ms (one way, up)"},
		{"schema: 1\nrtt: 50ms\nchanges: [{at: 2s, trace: t}]\n",
			"netem/p.yaml:3:20: key 'trace' stands at the top of a profile only"},
		{"schema: 1\nup: {rtt: 5ms}\n",
			"netem/p.yaml:2:6: key 'rtt' is the whole round trip: under 'up' and "
			"'down' it is 'delay', one way"},
		{"schema: 1\nrtt: 50ms\ndown: {trace: t}\n",
			"netem/p.yaml:3:8: key 'trace' stands at the top of a profile only, for "
			"both directions"},
		{"schema: 1\nrtt: 50ms\nchanges: [{at: 2s, rtt: 5ms, up: {delay: 1ms}}]\n",
			"netem/p.yaml:3:35: 'rtt' and 'delay' together: the round trip is one "
			"or the other"},
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
test_bursts(void)
{
	struct profile profile;

	/* p / (p + r) of all packets are lost, in bursts of 1 / r. */
	CHECK_TEXT(parse("schema: 1\nrtt: 50ms\nloss: 1%\nburst: 4\n", &profile), "read");
	CHECK_INT(profile.path[UP].bursts, true);
	CHECK_INT(profile.path[UP].gemodel.to_good_ppb, 250000000);
	CHECK_INT(profile.path[UP].gemodel.to_bad_ppb, 2525253);
	CHECK_INT(profile.path[UP].gemodel.bad_loss_ppb, 1000000000);
	CHECK_INT(profile.path[UP].loss_ppm, 10000);
	profile_free(&profile);
	CHECK_TEXT(parse("schema: 1\nrtt: 50ms\nloss: 1%\n"
			 "up: {gemodel: {p: 1%, r: 9%, bad: 50%, good: 1%}}\n",
			   &profile),
		"read");
	CHECK_INT(profile.path[UP].bursts, true);
	CHECK_INT(profile.path[UP].loss_ppm, 59000); /* a tenth of 50%, nine tenths of 1% */
	CHECK_INT(profile.path[UP].gemodel.good_loss_ppb, 10000000);
	CHECK_INT(profile.path[DOWN].bursts, false);
	CHECK_INT(profile.path[DOWN].loss_ppm, 10000);
	profile_free(&profile);
}

static void
test_more_keys(void)
{
	struct profile profile;

	CHECK_TEXT(
		parse("schema: 1\nrtt: 50ms\njitter: 5ms\ndistribution: paretonormal\n"
		      "duplicate: 2%\ncorrupt: 0.1%\nreorder: 25%\ngap: 5\nrate: 1mbit\n"
		      "queue: 64kib\ncold: true\ndown: {distribution: normal, reorder: 0%}\n",
			&profile),
		"read");
	CHECK_INT(profile.cold, true);
	CHECK_INT(profile.path[UP].distribution, DISTRIBUTION_PARETONORMAL);
	CHECK_INT(profile.path[DOWN].distribution, DISTRIBUTION_NORMAL);
	CHECK_INT(profile.path[UP].duplicate_ppm, 20000);
	CHECK_INT(profile.path[UP].corrupt_ppm, 1000);
	CHECK_INT(profile.path[UP].reorder_ppm, 250000);
	CHECK_INT(profile.path[UP].reorder_gap, 5);
	CHECK_INT(profile.path[DOWN].reorder_ppm, 0);
	CHECK_INT(profile.path[DOWN].reorder_gap, 0);
	CHECK_INT(profile.path[UP].queue_bytes, 65536);
	CHECK_INT(impairment_missing_ppm(&profile.path[UP]), 1000);
	profile_free(&profile);
}

static void
test_changes(void)
{
	struct profile profile;

	CHECK_TEXT(parse("schema: 1\nrtt: 50ms\nloss: 1%\nburst: 3\nup: {loss: 2%}\n"
			 "changes:\n"
			 "  - {at: 5s, rtt: 120ms}\n"
			 "  - {at: 8s, loss: 100%}\n"
			 "  - {at: 9s, loss: 0%, down: {rate: 1mbit}}\n",
			   &profile),
		"read");
	CHECK_INT(profile.change_count, 3);
	CHECK_INT(profile.path[UP].delay_ns, 25 * MS);
	CHECK_INT(profile.changes[0].at_ns, 5 * NS_PER_S);
	CHECK_INT(profile.changes[0].path[DOWN].delay_ns, 60 * MS);
	CHECK_INT(profile.changes[0].path[UP].loss_ppm, 20000);
	CHECK_INT(profile.changes[0].path[DOWN].bursts, true);
	CHECK_INT(profile.changes[1].path[UP].loss_ppm, 1000000);
	CHECK_INT(profile.changes[1].path[DOWN].loss_ppm, 1000000);
	CHECK_INT(profile.changes[1].path[DOWN].bursts, false);
	CHECK_INT(profile.changes[2].path[UP].delay_ns, 60 * MS);
	CHECK_INT(profile.changes[2].path[UP].loss_ppm, 0);
	CHECK_INT(profile.changes[2].path[UP].rate_bps, 0);
	CHECK_INT(profile.changes[2].path[DOWN].rate_bps, 1000000);
	profile_free(&profile);
}

static void
test_changes_of_one_delay(void)
{
	struct profile profile;

	CHECK_TEXT(parse("schema: 1\nrtt: 50ms\n"
			 "changes:\n"
			 "  - {at: 5s, down: {delay: 40ms}}\n"
			 "  - {at: 6s, loss: 1%}\n"
			 "  - {at: 7s, up: {delay: 10ms}}\n"
			 "  - {at: 8s, rtt: 20ms}\n",
			   &profile),
		"read");
	CHECK_INT(profile.changes[0].path[UP].delay_ns, 25 * MS);
	CHECK_INT(profile.changes[0].path[DOWN].delay_ns, 40 * MS);
	CHECK_INT(profile.changes[1].path[DOWN].delay_ns, 40 * MS);
	CHECK_INT(profile.changes[2].path[UP].delay_ns, 10 * MS);
	CHECK_INT(profile.changes[2].path[DOWN].delay_ns, 40 * MS);
	CHECK_INT(profile.changes[3].path[UP].delay_ns, 10 * MS);
	CHECK_INT(profile.changes[3].path[DOWN].delay_ns, 10 * MS);
	profile_free(&profile);
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
		{"loss in bursts", test_bursts},
		{"every other key", test_more_keys},
		{"changes start from the one before", test_changes},
		{"a change of one delay leaves the other", test_changes_of_one_delay},
		{"the queue holds what is in flight", test_limit},
		CU_TEST_INFO_NULL,
	};

	return check_main("profile", tests);
}
