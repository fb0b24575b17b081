/* matrix.csv byte for byte, statuses, shards, and what damaged directories are answered with.
 */
#include "check.h"

#include <locale.h>

#include "report/report.h"
#include "rundir.h"

#define HEADER                                                                                 \
	"schema,run,cell,probe,variant,profile,family,runtime,link,repeats,metric,unit,n,"     \
	"errors,"                                                                              \
	"min,mean,stddev,p50,p50_lo,p50_hi,p90,p99,p999,max,rtt_configured_ns,rtt_measured_"   \
	"ns,"                                                                                  \
	"loss_configured,loss_measured,rtts,status,reason\n"
#define LOCAL "handshake/default/localhost/4"
#define WAN "handshake/default/wan50/4"

static struct report *
load(const char *dir)
{
	struct err err = {0};
	struct report *report = report_load(&dir, 1, &err);

	if (!report)
		fprintf(stderr, "%s\n", err.text);
	CU_ASSERT_FATAL(report != NULL);
	return report;
}

/* The CSV of a directory; free() it. */
static char *
csv_of(const char *dir)
{
	struct report *report = load(dir);
	struct buf text = {0};
	char *copy;

	report_csv(report, &text);
	copy = alloc_text(buf_text(&text));
	buf_free(&text);
	report_free(report);
	return copy;
}

/* Status and reason of the only cell of a directory, "failed,why". free() it. */
static char *
verdict_of(const char *dir)
{
	char *csv = csv_of(dir), *row = strchr(csv, '\n') + 1, *copy;
	int commas = 0;

	while (commas < 29)
		commas += *row++ == ',';
	copy = alloc_text_n(row, strcspn(row, "\n"));
	free(csv);
	return copy;
}

static void
check_verdict(const char *dir, const char *expected)
{
	char *verdict = verdict_of(dir);

	CHECK_TEXT(verdict, expected);
	free(verdict);
}

/* A directory with one cell that was planned for `repeats` repeats. */
static char *
one_cell(const char *profile, int repeats)
{
	char *dir = scratch_make(), *cell = rundir_cell("handshake", "default", profile, "");

	rundir_manifest(dir, repeats, cell);
	free(cell);
	return dir;
}

/* Every kind of cell there is: local, linked, half failed, failed, never run. */
static char *
five_cells(void)
{
	char *dir = scratch_make();
	char *cells[5], *all;

	cells[0] = rundir_cell("handshake", "default", "localhost", "");
	cells[1] = rundir_cell("handshake", "default", "wan50", "");
	cells[2] = rundir_cell("keepalive", "mode=off;size=1kib", "wan50", "");
	cells[3] = rundir_cell("keepalive", "mode=on", "wan50", "");
	cells[4] = rundir_cell("tls", "default", "wan50", "");
	all = alloc_printf("%s,%s,%s,%s,%s", cells[0], cells[1], cells[2], cells[3], cells[4]);
	rundir_manifest(dir, 2, all);
	rundir_local(dir, LOCAL, 1,
		"sample connect ns 10\nsample connect ns 20\ncount connect_errors 1\n",
		"ready 127.0.0.1:5\ncount connections 2\n");
	rundir_local(dir, LOCAL, 2,
		"sample connect ns 30\nsample connect ns 40\ncount connect_errors 2\n",
		"ready 127.0.0.1:6\ncount connections 3\n");
	for (int repeat = 1; repeat <= 2; repeat++)
		rundir_linked(dir, WAN, repeat,
			"sample request ns 100300000\nsample request ns 100400000\n"
			"sample goodput bytes_per_s 1000\n",
			"");
	rundir_bad(dir, "keepalive/mode=off;size=1kib/wan50/4", 1, "timeout",
		"the client, \"hung\"");
	rundir_linked(
		dir, "keepalive/mode=off;size=1kib/wan50/4", 2, "sample request ns 7\n", "");
	for (int repeat = 1; repeat <= 2; repeat++)
		rundir_bad(dir, "keepalive/mode=on/wan50/4", repeat, "unsupported",
			"no \xff way\ttoday");
	for (int i = 0; i < 5; i++)
		free(cells[i]);
	free(all);
	return dir;
}

static const char five_rows[] = HEADER
	"1,20261130T170000Z-test,handshake/default/localhost/"
	"4,handshake,default,localhost,4,netns,"
	"none,2,connect,ns,4,3,10,25,13,20,10,40,,,,40,,,,,,ok,\n"
	"1,20261130T170000Z-test,handshake/default/localhost/"
	"4,handshake,default,localhost,4,netns,"
	"none,2,connections,count,2,,2,3,1,2,2,3,,,,3,,,,,,ok,\n"
	"1,20261130T170000Z-test,handshake/default/wan50/"
	"4,handshake,default,wan50,4,netns,tun,2,"
	"request,ns,4,,100300000,100350000,57735,100300000,100300000,100400000,,,,100400000,"
	"50000000,50100000,1.5000,1.2000,2.002,ok,\n"
	"1,20261130T170000Z-test,handshake/default/wan50/"
	"4,handshake,default,wan50,4,netns,tun,2,"
	"goodput,bytes_per_s,2,,1000,1000,0,1000,1000,1000,,,,1000,50000000,50100000,1.5000,"
	"1.2000,,ok,\n"
	"1,20261130T170000Z-test,keepalive/mode=off;size=1kib/wan50/"
	"4,keepalive,mode=off;size=1kib,"
	"wan50,4,netns,tun,1,request,ns,1,,7,7,,,,,,,,7,50000000,50100000,1.5000,1.2000,,"
	"timeout,"
	"\"repeat 1: the client, \"\"hung\"\" (1 of 2 repeats not ok)\"\n"
	"1,20261130T170000Z-test,keepalive/mode=on/wan50/"
	"4,keepalive,mode=on,wan50,4,netns,none,0,"
	",,0,,,,,,,,,,,,50000000,,1.5000,,,unsupported,no \xef\xbf\xbd way today\n"
	"1,20261130T170000Z-test,tls/default/wan50/"
	"4,tls,default,wan50,4,netns,tun,0,,,0,,,,,,,,,,,,"
	"50000000,,1.5000,,,skipped,not run: the run ended before its turn\n";

static void
csv_is_exact(void)
{
	char *dir = five_cells(), *csv = csv_of(dir);

	CHECK_TEXT(csv, five_rows);
	free(csv);
	scratch_remove(dir);
}

static void
totals_count(void)
{
	char *dir = five_cells();
	struct report *report = load(dir);
	const struct report_totals *totals = report_totals(report);

	CHECK_INT(totals->cells, 5);
	CHECK_INT(totals->ok, 2);
	CHECK_INT(totals->timeout, 1);
	CHECK_INT(totals->unsupported, 1);
	CHECK_INT(totals->skipped, 1);
	CHECK_INT(totals->failed + totals->invalid_link, 0);
	CHECK_INT(totals->repeats_planned, 10);
	CHECK_INT(totals->repeats_done, 8);
	CHECK_INT(totals->repeats_ok, 5);
	report_free(report);
	scratch_remove(dir);
}

static void
writes_and_writes_again(void)
{
	char *dir = five_cells(), *path = alloc_printf("%s/matrix.csv", dir);
	struct report *report = load(dir);
	struct buf first = {0}, second = {0};
	struct err err = {0};

	CHECK_INT(report_write(report, dir, &err), 0);
	CHECK_INT(file_read(path, 1 << 20, &first, &err), 0);
	CHECK_INT(report_write(report, dir, &err), 0);
	CHECK_INT(file_read(path, 1 << 20, &second, &err), 0);
	CHECK_TEXT(buf_text(&first), five_rows);
	CHECK_TEXT(buf_text(&second), five_rows);
	CHECK_INT(report_write(report, "/nonexistent", &err), -1);
	CHECK_TEXT(err.text, "write /nonexistent/matrix.csv: No such file or directory");
	report_free(report);
	buf_free(&first);
	buf_free(&second);
	free(path);
	scratch_remove(dir);
}

/* Not even a program that does call setlocale() changes a byte. */
static void
locale_changes_nothing(void)
{
	char *dir = five_cells(), *csv;

	setlocale(LC_ALL, "");
	csv = csv_of(dir);
	setlocale(LC_ALL, "C");
	CHECK_TEXT(csv, five_rows);
	free(csv);
	scratch_remove(dir);
}

static void
long_quantiles(void)
{
	char *dir = one_cell("localhost", 1), *csv;
	struct buf samples = {0};

	for (int i = 1000; i >= 1; i--)
		buf_printf(&samples, "sample connect ns %d\n", i);
	rundir_local(dir, LOCAL, 1, buf_text(&samples), "");
	csv = csv_of(dir);
	CU_ASSERT(strstr(csv, ",connect,ns,1000,,1,501,289,500,") != NULL);
	CU_ASSERT(strstr(csv, ",900,990,999,1000,,,,,,ok,\n") != NULL);
	buf_free(&samples);
	free(csv);
	scratch_remove(dir);
}

/* The worst status wins, with the reason of the first repeat that has it. */
static void
worst_status_wins(void)
{
	char *dir = one_cell("localhost", 4);

	rundir_bad(dir, LOCAL, 1, "skipped", "one");
	check_verdict(dir, "skipped,one");
	rundir_bad(dir, LOCAL, 2, "timeout", "two");
	check_verdict(dir, "timeout,repeat 2: two (2 of 2 repeats not ok)");
	rundir_bad(dir, LOCAL, 3, "failed", "three");
	rundir_bad(dir, LOCAL, 4, "failed", "four");
	check_verdict(dir, "failed,repeat 3: three (4 of 4 repeats not ok)");
	scratch_remove(dir);
}

/* A repeat without outcome.txt was interrupted: as if it had never begun. */
static void
unfinished_repeats_do_not_count(void)
{
	char *dir = one_cell("localhost", 3), *csv;
	struct report *report;

	rundir_local(dir, LOCAL, 1, "sample connect ns 10\n", "");
	rundir_file(dir, LOCAL, 2, "client.txt", "sample connect ns 99\n");
	csv = csv_of(dir);
	CU_ASSERT(strstr(csv, ",none,1,connect,ns,1,,10,10,") != NULL);
	report = load(dir);
	CHECK_INT(report_totals(report)->repeats_planned, 3);
	CHECK_INT(report_totals(report)->repeats_done, 1);
	CHECK_INT(report_totals(report)->ok, 1);
	report_free(report);
	free(csv);
	scratch_remove(dir);
}

static void
damaged_records_fail_the_repeat(void)
{
	static const struct {
		const char *client, *server, *reason;
	} cases[] = {
		{"sample connect ns 1\nSegfault\n", "",
			"failed,client.txt: line 2: not a record: 'Segfault'"},
		{"sample connect ns 1\nsample connect ns 12", "",
			"failed,client.txt: line 2: cut short: 'sample connect ns 12'"},
		{"sample connect ns 1\n", "count x -1\n",
			"failed,server.txt: line 1: not a record: 'count x -1'"},
		{"sample connect ns 1\n", "count connect 1\n",
			"failed,server.txt: line 1: metric 'connect' is printed by both halves"},
		{"count connect_errors 1\n", "count connect_errors 1\n",
			"failed,server.txt: line 1: metric 'connect' is printed by both halves"},
		{"count connections 1\ncount connections 2\n", "",
			"failed,client.txt: line 2: count 'connections' is printed twice"},
		{"count x_errors 1\ncount x_errors 2\n", "",
			"failed,client.txt: line 2: count 'x_errors' is printed twice"},
		{"sample connect ns 1\nsample connect bytes 1\n", "",
			"failed,client.txt: line 2: metric 'connect' changes from sample ns to "
			"sample bytes"},
		{"count connect 1\nsample connect count 1\n", "",
			"failed,client.txt: line 2: metric 'connect' changes from count count to "
			"sample count"},
		{"info cipher x\n", "ready here\n", "failed,neither half printed a metric"},
		{"", "", "failed,neither half printed a metric"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = one_cell("localhost", 1);

		rundir_local(dir, LOCAL, 1, cases[i].client, cases[i].server);
		check_verdict(dir, cases[i].reason);
		scratch_remove(dir);
	}
}

static void
damaged_outcomes_fail_the_repeat(void)
{
	static const struct {
		const char *outcome, *reason;
	} cases[] = {
		{"", "failed,outcome.txt holds no status"},
		{"info runtime netns\n", "failed,outcome.txt holds no status"},
		{"info status good\n", "failed,outcome.txt: line 1: 'good' is no status"},
		{"info status ok", "failed,outcome.txt: line 1: cut short: 'info status ok'"},
		{"info status failed\n", "failed,no reason was given"},
		{"info status ok\n", "invalid_link,ran over link '' on a loopback profile"},
		{"info status ok\ninfo link tun\n",
			"invalid_link,ran over link 'tun' on a loopback profile"},
		{"info status ok\ninfo link none\n", "failed,client.txt is missing"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = one_cell("localhost", 1);

		rundir_file(dir, LOCAL, 1, "outcome.txt", cases[i].outcome);
		check_verdict(dir, cases[i].reason);
		scratch_remove(dir);
	}
}

static void
nul_bytes_are_damage(void)
{
	char *dir = one_cell("localhost", 1), *path;
	struct err err;

	rundir_local(dir, LOCAL, 1, "", "");
	path = alloc_printf("%s/cells/%s/1/client.txt", dir, LOCAL);
	CHECK_INT(file_write(path, "count x 1\0junk\n", 15, &err), 0);
	check_verdict(dir, "failed,client.txt: line 1: not a record: it holds a NUL byte");
	free(path);
	scratch_remove(dir);
}

/* A figure of a link that was not measured is none. */
static void
unmeasured_links_are_invalid(void)
{
	static const struct {
		const char *file, *text, *reason;
	} cases[] = {
		{"link-after.txt", "count echo_sent 1\n",
			"invalid_link,link-after.txt holds no echo: the link was not measured"},
		{"link-before.txt", "",
			"invalid_link,link-before.txt holds no echo: the link was not "
			"measured"},
		{"link-before.txt", "sample echo bytes 1\n",
			"invalid_link,link-before.txt: line 1: echo is in bytes"},
		{"link.txt", "oops\n", "invalid_link,link.txt: line 1: not a record: 'oops'"},
		{"outcome.txt", "info status ok\ninfo link none\n",
			"invalid_link,ran over link 'none' on a linked profile"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = one_cell("wan50", 1), *csv;

		rundir_linked(dir, WAN, 1, "sample connect ns 1\n", "");
		rundir_file(dir, WAN, 1, cases[i].file, cases[i].text);
		check_verdict(dir, cases[i].reason);
		csv = csv_of(dir);
		CU_ASSERT(strstr(csv, "connect") == NULL);
		free(csv);
		scratch_remove(dir);
	}
}

/* Repeats over different links are not one experiment. */
static void
repeats_must_fit(void)
{
	char *dir = one_cell("wan50", 2);

	rundir_linked(dir, WAN, 1, "sample connect ns 1\n", "");
	rundir_linked(dir, WAN, 2, "sample connect ns 1\n", "");
	rundir_file(dir, WAN, 2, "outcome.txt",
		"info status ok\ninfo runtime netns\ninfo link netem\n");
	check_verdict(dir, "failed,\"repeat 2: ran over netem, repeats before it over tun (1 "
			   "of 2 repeats not ok)\"");
	rundir_file(dir, WAN, 2, "outcome.txt",
		"info status ok\ninfo runtime docker\ninfo link tun\n");
	check_verdict(dir, "failed,\"repeat 2: ran in docker, repeats before it in netns (1 of "
			   "2 repeats not ok)\"");
	rundir_linked(dir, WAN, 2, "sample connect bytes 1\n", "");
	check_verdict(dir,
		"failed,repeat 2: metric 'connect' is in bytes here and in ns before (1 of "
		"2 repeats not ok)");
	scratch_remove(dir);
}

static void
shards_make_one(void)
{
	char *a = one_cell("localhost", 1), *b = one_cell("wan50", 1);
	const char *const dirs[] = {a, b};
	struct buf csv = {0};
	struct err err = {0};
	struct report *report;

	rundir_local(a, LOCAL, 1, "sample connect ns 1\n", "");
	rundir_linked(b, WAN, 1, "sample connect ns 1\n", "");
	report = report_load(dirs, 2, &err);
	CU_ASSERT_FATAL(report != NULL);
	report_csv(report, &csv);
	CHECK_INT(report_totals(report)->cells, 2);
	CU_ASSERT(strstr(buf_text(&csv), LOCAL) < strstr(buf_text(&csv), WAN));
	buf_free(&csv);
	report_free(report);
	scratch_remove(a);
	scratch_remove(b);
}

static void
shards_must_not_overlap(void)
{
	char *a = one_cell("wan50", 1), *b = one_cell("wan50", 1);
	const char *const dirs[] = {a, b};
	char *expected = alloc_printf("cell %s is in both %s and %s", WAN, a, b);
	char *swapped = alloc_printf("cell %s is in both %s and %s", WAN, b, a);
	struct err err = {0};

	CHECK_INT(report_load(dirs, 2, &err) == NULL, 1);
	CHECK_TEXT(err.text, strcmp(err.text, swapped) ? expected : swapped);
	free(expected);
	free(swapped);
	scratch_remove(a);
	scratch_remove(b);
}

/* The same name for two links would put two links into one column. */
static void
shards_must_agree_on_profiles(void)
{
	char *a = one_cell("localhost", 1), *b = one_cell("wan50", 1), *path, *at;
	const char *const dirs[] = {a, b};
	char *expected = alloc_printf(
		"profile wan50 is not the same link in %s and in %s", a, b);
	struct buf text = {0};
	struct err err = {0};

	path = alloc_printf("%s/manifest.json", b);
	file_read(path, 1 << 20, &text, &err);
	at = strstr(text.data, "50000000");
	*at = '6';
	file_write(path, text.data, text.len, &err);
	CHECK_INT(report_load(dirs, 2, &err) == NULL, 1);
	CHECK_TEXT(err.text, expected);
	buf_free(&text);
	free(path);
	free(expected);
	scratch_remove(a);
	scratch_remove(b);
}

/* Loading `dir` must fail with `dir` followed by `rest`. */
static void
check_refused(const char *dir, const char *before, const char *rest)
{
	char *expected = alloc_printf("%s%s%s", before, dir, rest);
	struct err err = {0};
	struct report *report = report_load(&dir, 1, &err);

	CHECK_INT(report == NULL, 1);
	CHECK_TEXT(err.text, expected);
	report_free(report);
	free(expected);
}

static void
manifest_errors(void)
{
	static const struct {
		const char *from, *to, *error;
	} cases[] = {
		{"{\"schema\":1", "{\"schema\":2",
			"/manifest.json: schema 2 is not known here: expected 1"},
		{"\"schema\":1", "\"schemas\":1",
			"/manifest.json: Object item not found: schema"},
		{"\"repeats\":1", "\"repeats\":0",
			"/manifest.json: 0 repeats: expected 1 to 100000"},
		{"\"repeats\":1", "\"repeats\":\"1\"",
			"/manifest.json: Expected integer, got string"},
		{"\"repeats\":1", "\"repeats\":1,,",
			"/manifest.json:1:337: string or '}' expected near ','"},
		{"\"profile\":\"wan50\"", "\"profile\":\"moon\"",
			"/manifest.json: cell 1: 'moon' is none of its profiles"},
		{"\"id\":\"", "\"id\":\"../",
			"/manifest.json: cell 1: '../handshake/default/wan50/4' is no cell id"},
		{"\"id\":\"handshake", "\"id\":\"/etc",
			"/manifest.json: cell 1: '/etc/default/wan50/4' is no cell id"},
		{"\"family\":4", "\"family\":\"4\"",
			"/manifest.json: cell 1: Expected integer, got string"},
		{"\"expect\":[]", "\"expect\":[1]",
			"/manifest.json: cell 1: expectation 1: Expected object, got integer"},
		{"\"loopback\":true,", "",
			"/manifest.json: profile 1: Object item not found: loopback"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *dir = one_cell("wan50", 1), *path = alloc_printf("%s/manifest.json", dir),
		     *at;
		struct buf text = {0}, changed = {0};
		struct err err;

		file_read(path, 1 << 20, &text, &err);
		at = strstr(text.data, cases[i].from);
		CU_ASSERT_FATAL(at != NULL);
		buf_add(&changed, text.data, (size_t)(at - text.data));
		buf_puts(&changed, cases[i].to);
		buf_puts(&changed, at + strlen(cases[i].from));
		file_write(path, changed.data, changed.len, &err);
		check_refused(dir, "", cases[i].error);
		buf_free(&text);
		buf_free(&changed);
		free(path);
		scratch_remove(dir);
	}
}

static void
no_manifest(void)
{
	char *dir = scratch_make();
	struct err err = {0};

	check_refused(dir, "open ", "/manifest.json: No such file or directory");
	scratch_write(dir, "manifest.json", "");
	check_refused(dir, "", "/manifest.json:1:0: '[' or '{' expected near end of file");
	CHECK_INT(report_load(NULL, 0, &err) == NULL, 1);
	CHECK_TEXT(err.text, "no run directory given");
	scratch_remove(dir);
}

/* Cut anywhere, a manifest is refused and nothing else happens. */
static void
cut_manifests(void)
{
	char *dir = one_cell("wan50", 1), *path = alloc_printf("%s/manifest.json", dir);
	const char *const dirs[] = {dir};
	struct buf text = {0};
	struct err err;
	size_t taken = 0;

	file_read(path, 1 << 20, &text, &err);
	for (size_t len = 0; len < text.len; len += 7) {
		struct report *report;

		file_write(path, text.data, len, &err);
		report = report_load(dirs, 1, &err);
		taken += report != NULL;
		report_free(report);
	}
	CHECK_INT(taken, 0);
	buf_free(&text);
	free(path);
	scratch_remove(dir);
}

/* A file that is there and cannot be read is an error: figures without it would be others. */
static void
unreadable_files(void)
{
	char *dir = one_cell("localhost", 1), *path;

	rundir_local(dir, LOCAL, 1, "count x 1\n", "");
	path = alloc_printf("%s/cells/%s/1/client.txt", dir, LOCAL);
	remove(path);
	free(path);
	rundir_file(dir, LOCAL, 1, "client.txt/folder", "");
	check_refused(dir, "read ", "/cells/" LOCAL "/1/client.txt: Is a directory");
	scratch_remove(dir);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"csv is exact", csv_is_exact},
		{"totals count", totals_count},
		{"writes, and writes again", writes_and_writes_again},
		{"locale changes nothing", locale_changes_nothing},
		{"long quantiles", long_quantiles},
		{"worst status wins", worst_status_wins},
		{"unfinished repeats do not count", unfinished_repeats_do_not_count},
		{"damaged records fail the repeat", damaged_records_fail_the_repeat},
		{"damaged outcomes fail the repeat", damaged_outcomes_fail_the_repeat},
		{"NUL bytes are damage", nul_bytes_are_damage},
		{"unmeasured links are invalid", unmeasured_links_are_invalid},
		{"repeats must fit", repeats_must_fit},
		{"shards make one", shards_make_one},
		{"shards must not overlap", shards_must_not_overlap},
		{"shards must agree on profiles", shards_must_agree_on_profiles},
		{"manifest errors", manifest_errors},
		{"no manifest", no_manifest},
		{"cut manifests", cut_manifests},
		{"unreadable files", unreadable_files},
		CU_TEST_INFO_NULL,
	};

	return check_main("report", tests);
}
