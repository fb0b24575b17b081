/* The runner believes nothing unseen: records, echoes and drop counters are judged. */
#include "check.h"

#include "run/verdict.h"

static struct buf
text(const char *content)
{
	struct buf buf = {0};

	buf_puts(&buf, content);
	return buf;
}

static int
judge_records(const char *client, const char *server, struct err *err)
{
	struct buf a = text(client), b = text(server);
	int status = verdict_records(&a, &b, err);

	buf_free(&a);
	buf_free(&b);
	return status;
}

static void
test_good_records(void)
{
	struct err err;

	CHECK_INT(judge_records("sample connect ns 17000\ninfo a b\n",
			  "ready 127.0.0.1:80\ncount connections 1\n", &err),
		0);
}

static void
test_rubbish_names_half_and_line(void)
{
	struct err err;

	CHECK_INT(judge_records("sample connect ns 1\nhello\n", "", &err), -1);
	CHECK_TEXT(err.text, "the client's output: line 2: not a record: 'hello'");
	CHECK_INT(judge_records("sample connect ns 1\n", "sample x ns 1.5\n", &err), -1);
	CHECK_TEXT(err.text, "the server's output: line 1: not a record: 'sample x ns 1.5'");
}

static void
test_contradictions(void)
{
	struct err err;

	CHECK_INT(judge_records("count x 1\ncount x 2\n", "", &err), -1);
	CHECK_TEXT(err.text, "the client's output: line 2: count 'x' is printed twice");
	CHECK_INT(judge_records("sample x ns 1\nsample x bytes 2\n", "", &err), -1);
	CHECK_TEXT(
		err.text, "the client's output: line 2: metric 'x' changes its kind or unit");
	CHECK_INT(judge_records("sample x ns 1\ncount x 2\n", "", &err), -1);
}

static void
test_nothing_measured(void)
{
	struct err err;

	CHECK_INT(judge_records("info only words\n", "count connections 1\n", &err), -1);
	CHECK_TEXT(err.text, "the client printed no measurement");
}

static void
test_metric_of_both_halves(void)
{
	struct err err;

	CHECK_INT(judge_records("count connections 1\n", "count connections 1\n", &err), -1);
	CHECK_TEXT(err.text, "both halves printed 'connections'");
}

static struct profile
wan50(void)
{
	struct profile profile = {.name = (char[]){"wan50"}};

	profile.path[UP].delay_ns = profile.path[DOWN].delay_ns = 25000000;
	return profile;
}

static int
judge_echo(const char *check, const struct profile *profile, struct err *err)
{
	struct buf buf = text(check);
	int status = verdict_echo(&buf, profile, err);

	buf_free(&buf);
	return status;
}

static void
test_echo(void)
{
	struct profile profile = wan50();
	struct err err;

	CHECK_INT(judge_echo("sample echo ns 50900000\nsample echo ns 50100000\n"
			     "sample echo ns 90000000\n",
			  &profile, &err),
		0);
	CHECK_INT(judge_echo("sample echo ns 25000000\n", &profile, &err), -1);
	CHECK_TEXT(err.text, "the link's round trip is 25.0 ms, expected 50.0 ms +- 1.00 ms");
	CHECK_INT(judge_echo("sample echo ns 100000000\n", &profile, &err), -1);
	CHECK_INT(judge_echo("count echo_lost 25\n", &profile, &err), -1);
	CHECK_TEXT(err.text, "no echo came back over the link");
}

static void
test_tolerance(void)
{
	struct profile profile = wan50();

	CHECK_INT(verdict_tolerance_ns(&profile), 1000000);
	profile.path[UP].delay_ns = profile.path[DOWN].delay_ns = 250000;
	CHECK_INT(verdict_tolerance_ns(&profile), 150000);
	profile.path[UP].jitter_ns = 100000;
	CHECK_INT(verdict_tolerance_ns(&profile), 200000);
	profile.path[DOWN].rate_bps = 1000000; /* 800 bits take 800 us */
	CHECK_INT(verdict_tolerance_ns(&profile), 1000000);
	profile.path[UP].distribution = DISTRIBUTION_PARETO;
	CHECK_INT(verdict_tolerance_ns(&profile), 1050000);
	profile.path[DOWN].reorder_ppm = 500000;
	CHECK_INT(verdict_tolerance_ns(&profile), 1300000);
}

static void
test_drops(void)
{
	struct profile profile = wan50();
	struct buf none = text("count up_packets 900\ncount up_lost 9\ncount up_dropped 0\n");
	struct buf some = text("count down_dropped 3\n");
	struct buf missed = text("count up_missed 2\ncount down_missed 0\n");
	struct err err;

	CHECK_INT(verdict_drops(&none, &profile, &err), 0);
	CHECK_INT(verdict_drops(&some, &profile, &err), -1);
	CHECK_TEXT(
		err.text, "the link dropped 3 packets (down_dropped) that no setting explains");
	profile.path[DOWN].rate_bps = 1000000; /* a slow link's queue may overflow */
	CHECK_INT(verdict_drops(&some, &profile, &err), 0);
	CHECK_INT(verdict_drops(&missed, &profile, &err), -1);
	CHECK_TEXT(err.text, "the machine lost 2 packets (up_missed) on their way to the link "
			     "or from it");
	buf_free(&missed);
	buf_free(&none);
	buf_free(&some);
}

static int
judge_stalls(const char *link, const struct profile *profile, struct err *err)
{
	struct buf buf = text(link);
	int status = verdict_stalls(&buf, profile, err);

	buf_free(&buf);
	return status;
}

static void
test_stalls(void)
{
	struct profile profile = wan50();
	struct err err;

	CHECK_INT(judge_stalls("info qdisc_near netem\n", &profile, &err), 0);
	CHECK_INT(
		judge_stalls("info stall_max_ns 20000000\ninfo stalls 9\n", &profile, &err), 0);
	CHECK_INT(judge_stalls("info stall_max_ns 301000000\n", &profile, &err), -1);
	CHECK_TEXT(err.text, "the emulator stood still for 301 ms, more than 20.0 ms");
	CHECK_INT(judge_stalls("info stall_max_ns many\n", &profile, &err), -1);
	CHECK_TEXT(err.text, "the link's output: line 1: 'many' is not a whole number");
	/* A long way makes up for a long stall; none excuses a short one. */
	profile.path[UP].delay_ns = profile.path[DOWN].delay_ns = 300000000;
	CHECK_INT(judge_stalls("info stall_max_ns 30000000\n", &profile, &err), 0);
	CHECK_INT(judge_stalls("info stall_max_ns 30000001\n", &profile, &err), -1);
	profile.path[UP].delay_ns = profile.path[DOWN].delay_ns = 250000;
	CHECK_INT(verdict_stall_limit_ns(&profile), 20000000);
	CHECK_INT(judge_stalls("info stall_max_ns 40000000\n", &profile, &err), -1);
}

static int
judge_lateness(const char *link, const struct profile *profile, struct err *err)
{
	struct buf buf = text(link);
	int status = verdict_lateness(&buf, profile, err);

	buf_free(&buf);
	return status;
}

static void
test_lateness(void)
{
	struct profile profile = wan50();
	struct err err;

	CHECK_INT(judge_lateness("info qdisc_near netem\n", &profile, &err), 0);
	CHECK_INT(judge_lateness("info lateness_p50_ns 500000\ninfo lateness_p99_ns 2500000\n"
				 "info lateness_max_ns 9000000\n",
			  &profile, &err),
		0);
	CHECK_INT(judge_lateness("info lateness_p50_ns 501000\n", &profile, &err), -1);
	CHECK_TEXT(err.text, "half of the packets left the emulator late by at least 501 us, "
			     "more than 500 us");
	CHECK_INT(judge_lateness("info lateness_p50_ns 1000\ninfo lateness_p99_ns 2501000\n",
			  &profile, &err),
		-1);
	CHECK_TEXT(err.text, "one packet in 100 left the emulator late by at least 2.50 ms, "
			     "more than 2.50 ms");
	CHECK_INT(judge_lateness("info lateness_p99_ns -\n", &profile, &err), -1);
	/* Jitter and rate are in the due time; a short way has a floor. */
	profile.path[UP].jitter_ns = profile.path[DOWN].jitter_ns = 10000000;
	profile.path[UP].rate_bps = 1000000;
	CHECK_INT(verdict_late_p50_limit_ns(&profile), 500000);
	profile.path[UP].delay_ns = profile.path[DOWN].delay_ns = 250000;
	CHECK_INT(verdict_late_p50_limit_ns(&profile), 75000);
	CHECK_INT(verdict_late_p99_limit_ns(&profile), 600000);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"good records", test_good_records},
		{"rubbish names half and line", test_rubbish_names_half_and_line},
		{"contradictions", test_contradictions},
		{"nothing measured", test_nothing_measured},
		{"metric of both halves", test_metric_of_both_halves},
		{"echo", test_echo},
		{"tolerance", test_tolerance},
		{"drops", test_drops},
		{"stalls", test_stalls},
		{"lateness", test_lateness},
		CU_TEST_INFO_NULL,
	};

	return check_main("verdict", tests);
}
