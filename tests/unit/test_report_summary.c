/* The summary, the verdicts in it, and the comparison of two runs. */
#include "check.h"

#include <stdbool.h>

#include "report/fold.h"
#include "report/report.h"
#include "rundir.h"

#define LOCAL "handshake/default/localhost/4"
#define WAN "handshake/default/wan50/4"

#define RTTS(metric, low, high)                                                                \
	"{\"metric\":\"" metric "\",\"kind\":\"rtts\",\"low\":" low ",\"high\":" high          \
	",\"text\":\"" metric " takes " low " to " high " RTT\"}"
#define EQUALS(metric, value)                                                                  \
	"{\"metric\":\"" metric "\",\"kind\":\"equals\",\"low\":" value                        \
	",\"high\":0,\"text\":\"" metric " is " value "\"}"
#define BETWEEN(metric, low, high)                                                             \
	"{\"metric\":\"" metric "\",\"kind\":\"between\",\"low\":" low ",\"high\":" high       \
	",\"text\":\"" metric " is " low " to " high "\"}"

/* A run of one probe at localhost and wan50, with these expectations at wan50. */
static char *
two_cells(const char *expects)
{
	char *dir = scratch_make();
	char *local = rundir_cell("handshake", "default", "localhost", "");
	char *wan = rundir_cell("handshake", "default", "wan50", expects);
	char *cells = alloc_printf("%s,%s", local, wan);

	rundir_manifest(dir, 2, cells);
	for (int repeat = 1; repeat <= 2; repeat++) {
		rundir_local(dir, LOCAL, repeat,
			"sample request_new ns 40350\nsample request_kept ns 3050\ninfo "
			"congestion cubic\n",
			"count connections 2\n");
		rundir_linked(dir, WAN, repeat,
			"sample request_new ns 100400000\nsample request_kept ns 50200000\n",
			"count connections 2\n");
	}
	free(local);
	free(wan);
	free(cells);
	return dir;
}

/* The summary of a directory; free() it. */
static char *
summary_of(const char *dir)
{
	struct err err = {0};
	struct report *report = report_load(&dir, 1, &err);
	struct buf text = {0};
	char *copy;

	if (!report)
		fprintf(stderr, "%s\n", err.text);
	CU_ASSERT_FATAL(report != NULL);
	report_summary(report, &text);
	copy = alloc_text(buf_text(&text));
	buf_free(&text);
	report_free(report);
	return copy;
}

static void
check_holds(const char *text, const char *part)
{
	if (!strstr(text, part))
		fprintf(stderr, "no '%s' in\n%s\n", part, text);
	CU_ASSERT(strstr(text, part) != NULL);
}

static void
summary_is_exact(void)
{
	char *dir = two_cells(
		RTTS("request_kept", "0.98", "1.05") "," EQUALS("connections", "2"));
	char *text = summary_of(dir);

	CHECK_TEXT(text,
		"# test\n\n2 of 2 cells ok; 2 of 2 expectations held.\n\n"
		"- At wan50 a request on a new connection took 100.4 ms (2.00 RTT), on a kept "
		"one "
		"50.2 ms (1.00 RTT): keeping the connection saves 50.2 ms a request (2.00x).\n"
		"- At localhost a request on a new connection took 40.4 us, on a kept one 3.05 "
		"us: "
		"keeping the connection saves 37.3 us a request (13.2x).\n\n"
		"## handshake\n\n"
		"| metric       | variant |     localhost |          wan50 | wan50/localhost | "
		"RTTs at wan50 | expected |\n"
		"|--------------|---------|--------------:|---------------:|----------------:|-"
		"-------------:|----------|\n"
		"| request_new  | default | 40.4 us ±0.0% | 100.4 ms ±0.0% |           2488x | "
		"         2.00 |          |\n"
		"| request_kept | default | 3.05 us ±0.0% |  50.2 ms ±0.0% |          16459x | "
		"         1.00 | held     |\n"
		"| connections  | default |             2 |              2 |                 | "
		"              | held     |\n\n"
		"Samples of each timed metric: localhost 2, wan50 2.\n\n"
		"Times are medians of the pooled samples of all repeats; ± is the farther end "
		"of the "
		"95% interval of the median,\nin percent (bootstrap over repeats, then "
		"samples). RTTs "
		"is the median divided by the round trip that was measured.\nCounts are of one "
		"repeat. "
		"All figures are in matrix.csv; results/README.md explains its columns.\n\n"
		"## Expectations\n\n"
		"| probe     | profile | expected                            | found           "
		"         | cells  |\n"
		"|-----------|---------|-------------------------------------|-----------------"
		"---------|--------|\n"
		"| handshake | wan50   | request_kept takes 0.98 to 1.05 RTT | 1.002 RTT (50.2 "
		"ms, n 2) | held 1 |\n"
		"| handshake | wan50   | connections is 2                    | 2 in 2 repeats  "
		"         | held 1 |\n\n"
		"## Links\n\nMeasured by an independent echo before and after each cell; loss "
		"is of the "
		"packets of both directions.\n\n"
		"| link  | RTT stated | RTT measured |     least |      most | loss stated | "
		"loss measured | cells |\n"
		"|-------|-----------:|-------------:|----------:|----------:|------------:|---"
		"-----------:|------:|\n"
		"| wan50 |  50.000 ms |    50.100 ms | 50.100 ms | 50.100 ms |       1.50% |   "
		"      1.20% |     1 |\n\n"
		"## Run\n\n- Run `20261130T170000Z-test` of matrix test, 2026-11-30T17:00:00Z "
		"to (not "
		"ended), seed 1, 2 repeats, 2 jobs.\n- Runtime netns, link backend tun; "
		"congestion "
		"control cubic.\n- kernel: 6.1; cores: 2.\n");
	free(text);
	scratch_remove(dir);
}

static void
unexpected_stands_first(void)
{
	char *dir = two_cells(
		RTTS("request_new", "0.98", "1.05") "," EQUALS("connections", "1"));
	char *text;

	rundir_bad(dir, LOCAL, 1, "failed", "connect: Connection refused");
	rundir_file(dir, LOCAL, 2, "outcome.txt", "");
	text = summary_of(dir);
	CU_ASSERT(strstr(text, "# test\n\n1 of 2 cells ok, 1 failed; 0 of 2 expectations held, "
			       "2 broken.\n\n"
			       "## Unexpected\n\n"
			       "- **failed** `handshake/default/localhost/4`: repeat 1: "
			       "connect: Connection "
			       "refused (2 of 2 repeats not ok)\n"
			       "- **broken** `handshake/default/wan50/4`: request_new takes "
			       "0.98 to 1.05 RTT; "
			       "found: 2.004 RTT (100.4 ms, n 2)\n"
			       "- **broken** `handshake/default/wan50/4`: connections is 1; "
			       "found: 2 in 2 "
			       "repeats\n\n- At wan50") == text);
	check_holds(text, "| request_new  | default |    failed | 100.4 ms ±0.0% |");
	free(text);
	scratch_remove(dir);
}

static void
repeats_run_again_are_counted(void)
{
	char *dir = two_cells(""),
	     *path = alloc_printf("cells/%s/2.discarded-1/outcome.txt", WAN), *text;

	scratch_write(dir, path, "info status invalid_link\ninfo off_target yes\n");
	text = summary_of(dir);
	check_holds(text,
		"2 of 2 cells ok.\nRun again because the link was out of tolerance: 1 of 4 repeats");
	free(text);
	free(path);
	scratch_remove(dir);
}

static void
interrupted_run_says_so(void)
{
	char *dir = two_cells(""), *path = alloc_printf("%s/cells/%s/2/outcome.txt", dir, WAN),
	     *text;

	remove(path);
	text = summary_of(dir);
	check_holds(text,
		"2 of 2 cells ok.\n\n## Unexpected\n\n- **incomplete** 1 of 4 repeats were "
		"not run or did not end\n");
	free(text);
	free(path);
	scratch_remove(dir);
}

/* What the table of expectations says of one. */
static void
check_verdict(const char *expect, const char *verdict, const char *found)
{
	char *dir = two_cells(expect), *text = summary_of(dir);
	char *row = strstr(text, "\n## Expectations");

	CU_ASSERT_FATAL(row != NULL);
	check_holds(row, found);
	check_holds(row, verdict);
	free(text);
	scratch_remove(dir);
}

static void
verdicts(void)
{
	check_verdict(RTTS("request_new", "2.003", "2.005"), "| held 1 |", "2.004 RTT");
	check_verdict(RTTS("request_new", "2", "2.003"), "| BROKEN 1 |", "2.004 RTT");
	check_verdict(
		RTTS("nosuch", "1", "2"), "| BROKEN 1 |", "the probe reported no such metric");
	check_verdict(
		RTTS("connections", "1", "2"), "| BROKEN 1 |", "the metric is not a time");
	check_verdict(EQUALS("connections", "2"), "| held 1 |", "2 in 2 repeats");
	check_verdict(EQUALS("connections", "3"), "| BROKEN 1 |", "2 in 2 repeats");
	check_verdict(BETWEEN("connections", "1", "2"), "| held 1 |", "2 in 2 repeats");
	check_verdict(BETWEEN("request_new", "100400000", "100400001"), "| held 1 |",
		"100.4 ms (n 2)");
	check_verdict(BETWEEN("request_new", "1.5", "2.5"), "| BROKEN 1 |", "100.4 ms (n 2)");
}

/* A count must be right in every repeat, not in the median. */
static void
every_repeat_counts(void)
{
	char *dir = two_cells(EQUALS("connections", "2")), *text;

	rundir_file(dir, WAN, 2, "server.txt", "count connections 7\n");
	text = summary_of(dir);
	check_holds(text, "connections is 2; found: 2 to 7 in 2 repeats");
	check_holds(text, " 2..7 |");
	free(text);
	scratch_remove(dir);
}

static void
nothing_measured_is_not_judged(void)
{
	char *dir = two_cells(EQUALS("connections", "2")), *text;

	rundir_bad(dir, WAN, 1, "unsupported", "no tun");
	rundir_bad(dir, WAN, 2, "unsupported", "no tun");
	text = summary_of(dir);
	check_holds(text,
		"1 of 2 cells ok, 1 unsupported here; 0 of 1 expectations held, 1 not judged.");
	check_holds(text, "| unsupported | not judged 1 |");
	free(text);
	scratch_remove(dir);
}

/* Of two variants that differ in one setting, with the same rest. */
static void
headline_pairs_variants(void)
{
	static const char *const variants[] = {
		"framing=204;mode=on", "framing=sized;mode=off", "framing=sized;mode=on"};
	char *dir = scratch_make(), *text;
	struct buf cells = {0};

	for (size_t i = 0; i < 3; i++) {
		char *cell = rundir_cell("keepalive", variants[i], "localhost", "");
		char *id = alloc_printf("keepalive/%s/localhost/4", variants[i]);
		char *client = alloc_printf(
			"sample request ns %zu000\nsample request ns %zu000\n", i * 10 + 5,
			i * 10 + 5);

		buf_printf(&cells, "%s%s", i ? "," : "", cell);
		rundir_local(dir, id, 1, client, "");
		free(cell);
		free(id);
		free(client);
	}
	rundir_manifest(dir, 1, buf_text(&cells));
	text = summary_of(dir);
	check_holds(text, "- At localhost, with `framing=sized`, an HTTP request without "
			  "keep-alive took 15.0 us, with it 25.0 us.\n");
	free(text);
	buf_free(&cells);
	scratch_remove(dir);
}

/* Where a request went, and what is left of it: with shares of the phases, at one profile. */
static void
headline_of_a_whole_request(void)
{
	static const struct {
		const char *variant, *client;
	} variants[] = {
		{"cpu=same;state=cold",
			"sample total ns 200000\nsample phase_dns ns 50000\nsample phase_tcp ns "
			"20000\nsample phase_tls ns 100000\nsample phase_wait ns 29000\nsample "
			"phase_body ns 1000\n"},
		{"cpu=same;state=kept", "sample total ns 30000\n"},
		{"cpu=same;state=resumed", "sample total ns 90000\n"},
		{"state=early", "sample total ns 70000\n"},
	};
	char *dir = scratch_make(), *text;
	struct buf cells = {0};

	for (size_t i = 0; i < 4; i++) {
		char *cell = rundir_cell("request", variants[i].variant, "localhost", "");
		char *id = alloc_printf("request/%s/localhost/4", variants[i].variant);
		/* A median takes two. */
		char *twice = alloc_printf("%s%s", variants[i].client, variants[i].client);

		buf_printf(&cells, "%s%s", i ? "," : "", cell);
		rundir_local(dir, id, 1, twice, "");
		free(cell);
		free(id);
		free(twice);
	}
	rundir_manifest(dir, 1, buf_text(&cells));
	text = summary_of(dir);
	check_holds(text,
		"- At localhost, with `cpu=same`, an HTTPS request with nothing to use again took "
		"200.0 us: DNS 50.0 us (25%), TCP 20.0 us (10%), TLS 100.0 us (50%), the server's "
		"first byte 29.0 us (15%), the rest of the reply 1.00 us (1%). It took 90.0 us with "
		"the TLS session resumed too, 30.0 us with the connection kept.\n");
	free(text);
	buf_free(&cells);
	scratch_remove(dir);
}

static void
headline_without_a_question(void)
{
	char *dir = scratch_make(), *cell = rundir_cell("dns", "default", "wan50", ""), *text;

	rundir_manifest(dir, 1, cell);
	rundir_linked(dir, "dns/default/wan50/4", 1,
		"sample cold ns 50100000\nsample cold ns 50100000\n", "");
	text = summary_of(dir);
	check_holds(text, "- At wan50 `cold` of dns took 50.1 ms (1.00 RTT).\n");
	free(text);
	free(cell);
	scratch_remove(dir);
}

/* The comparison of two directories; free() it. */
static char *
comparison_of(const char *a, const char *b, bool csv)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct err err = {0};

	CHECK_INT(report_compare(a, b, csv, out, &err), 0);
	CHECK_TEXT(err.text, "");
	fclose(out);
	return text;
}

/* `b` differs from `a` in one metric, and each has a cell of its own. */
static void
two_runs(char **a, char **b)
{
	char *local = rundir_cell("handshake", "default", "localhost", "");
	char *wan = rundir_cell("handshake", "default", "wan50", "");
	char *tls = rundir_cell("tls", "default", "wan50", "");
	char *cells = alloc_printf("%s,%s", wan, tls);

	*a = two_cells("");
	*b = two_cells("");
	rundir_manifest(*b, 2, cells);
	for (int repeat = 1; repeat <= 2; repeat++)
		rundir_linked(*b, WAN, repeat,
			"sample request_new ns 150600000\nsample request_kept ns 50200000\n",
			"count connections 2\n");
	free(local);
	free(wan);
	free(tls);
	free(cells);
}

static void
compares(void)
{
	char *a, *b, *text;

	two_runs(&a, &b);
	text = comparison_of(a, b, false);
	CHECK_TEXT(text, "A is 20261130T170000Z-test (netns, tun), B is "
			 "20261130T170000Z-test (netns, tun).\n"
			 "Of 3 metrics 1 differ (the 95% intervals of their medians do not "
			 "overlap), 2 do not,\n"
			 "and 0 cannot be said (no interval in one of the runs).\n\n"
			 "| profile | times | B/A, median | least |  most | equal counts |\n"
			 "|---------|------:|------------:|------:|------:|-------------:|\n"
			 "| wan50   |     2 |       1.000 | 1.000 | 1.500 |       1 of 1 |\n\n"
			 "| cell                      | metric       |    A p50 |    B p50 |   "
			 "B/A | intervals overlap |\n"
			 "|---------------------------|--------------|---------:|---------:|---"
			 "---:|-------------------|\n"
			 "| handshake/default/wan50/4 | request_new  | 100.4 ms | 150.6 ms | "
			 "1.500 | no                |\n"
			 "| handshake/default/wan50/4 | request_kept |  50.2 ms |  50.2 ms | "
			 "1.000 | yes               |\n"
			 "| handshake/default/wan50/4 | connections  |        2 |        2 | "
			 "1.000 | yes               |\n\n"
			 "Only in A: `handshake/default/localhost/4`\nOnly in B: "
			 "`tls/default/wan50/4`\n");
	free(text);
	text = comparison_of(b, a, false);
	check_holds(text, "| 150.6 ms | 100.4 ms | 0.667 | no ");
	free(text);
	scratch_remove(a);
	scratch_remove(b);
}

/* A plan that changed is said, because it changes counts. */
static void
compares_plans(void)
{
	char *a = two_cells(""), *b = two_cells(""),
	     *path = alloc_printf("%s/manifest.json", b), *text;
	struct buf manifest = {0};
	struct err err;

	CHECK_INT(file_read(path, 1 << 20, &manifest, &err), 0);
	*(strstr(manifest.data, "\"samples\":2") + 10) = '3';
	CHECK_INT(file_write(path, manifest.data, manifest.len, &err), 0);
	text = comparison_of(a, b, false);
	check_holds(text, "\nOf 1 cells A and B did not take the same number of samples.\n");
	free(text);
	free(path);
	buf_free(&manifest);
	scratch_remove(a);
	scratch_remove(b);
}

static void
compares_as_csv(void)
{
	char *a, *b, *text;

	two_runs(&a, &b);
	text = comparison_of(a, b, true);
	CHECK_TEXT(text,
		"cell,metric,unit,status_a,n_a,p50_a,p50_lo_a,p50_hi_a,status_b,n_b,p50_b,p50_"
		"lo_b,"
		"p50_hi_b,ratio,intervals_overlap\n"
		"handshake/default/wan50/"
		"4,request_new,ns,ok,2,100400000,100400000,100400000,ok,2,"
		"150600000,150600000,150600000,1.500,no\n"
		"handshake/default/wan50/"
		"4,request_kept,ns,ok,2,50200000,50200000,50200000,ok,2,"
		"50200000,50200000,50200000,1.000,yes\n"
		"handshake/default/wan50/4,connections,count,ok,2,2,2,2,ok,2,2,2,2,1.000,yes\n"
		"handshake/default/localhost/4,,,ok,,,,,,,,,,,\n"
		"tls/default/wan50/4,,,,,,,,skipped,,,,,,\n");
	free(text);
	scratch_remove(a);
	scratch_remove(b);
}

static void
comparison_errors(void)
{
	char *dir = two_cells("");
	struct err err = {0};
	FILE *full = fopen("/dev/full", "w");

	CHECK_INT(report_compare(dir, "/nonexistent", false, stdout, &err), -1);
	CHECK_TEXT(err.text, "open /nonexistent/manifest.json: No such file or directory");
	CU_ASSERT_FATAL(full != NULL);
	CHECK_INT(report_compare(dir, dir, false, full, &err), -1);
	CHECK_TEXT(err.text, "write the comparison: No space left on device");
	fclose(full);
	scratch_remove(dir);
}

/* Rows as "variant figure figure expected", folded and printed the same way. */
static void
check_fold(const char *const rows[][4], size_t count, const char *expected)
{
	struct report_table table = {0};
	struct buf text = {0};

	for (size_t c = 0; c < 5; c++)
		report_table_column(&table, "x", false);
	for (size_t i = 0; i < count; i++) {
		report_table_add(&table, "m");
		for (size_t c = 0; c < 4; c++)
			report_table_add(&table, rows[i][c]);
	}
	report_fold(&table, 5);
	for (size_t i = 5; i < table.count; i++)
		if (i % 5)
			buf_printf(&text, "%s%c", table.cells[i], i % 5 == 4 ? '/' : ' ');
	CHECK_TEXT(buf_text(&text), expected);
	buf_free(&text);
	report_table_free(&table);
}

static void
folds(void)
{
	static const char *const alike[][4] = {
		{"a", "1", "", "held"}, {"b", "", "2", ""}, {"c", "1", "2", ""}};
	static const char *const mixed[][4] = {{"a", "5", "", ""}, {"b", "1", "2", ""},
		{"c", "1", "", ""}, {"d", "1", "", "held"}};
	static const char *const apart[][4] = {{"a", "1", "", "held"}, {"b", "2", "", "held"}};

	check_fold(alike, 3, "all 1 2 held/");
	check_fold(mixed, 4, "a 5  /d 1  held/all others 1 2 /");
	check_fold(apart, 2, "a 1  held/b 2  held/");
	check_fold(alike, 1, "a 1  held/");
	check_fold(NULL, 0, "");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"summary is exact", summary_is_exact},
		{"unexpected stands first", unexpected_stands_first},
		{"repeats run again are counted", repeats_run_again_are_counted},
		{"interrupted run says so", interrupted_run_says_so},
		{"verdicts", verdicts},
		{"every repeat counts", every_repeat_counts},
		{"nothing measured is not judged", nothing_measured_is_not_judged},
		{"headline pairs variants", headline_pairs_variants},
		{"headline of a whole request", headline_of_a_whole_request},
		{"headline without a question", headline_without_a_question},
		{"compares", compares},
		{"compares plans", compares_plans},
		{"compares as CSV", compares_as_csv},
		{"comparison errors", comparison_errors},
		{"folds", folds},
		CU_TEST_INFO_NULL,
	};

	return check_main("report summary", tests);
}
