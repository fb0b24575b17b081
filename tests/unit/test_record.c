/* The lines of the process contract: what is one, what is not, and how they are written. */
#include "check.h"

#include <stdlib.h>

#include "stat/record.h"

static void
parses(void)
{
	struct record record;
	struct err err = {0};

	CHECK_INT(record_parse("sample connect ns 16700", &record, &err), 0);
	CHECK_INT(record.kind, RECORD_SAMPLE);
	CHECK_INT(record.unit, RECORD_NS);
	CHECK_TEXT(record.name, "connect");
	CHECK_INT(record.value, 16700);
	CHECK_INT(record_parse("sample goodput bytes_per_s 9223372036854775807", &record, &err),
		0);
	CHECK_INT(record.unit, RECORD_BYTES_PER_S);
	CHECK_INT(record.value, INT64_MAX);
	CHECK_INT(record_parse("count connections 1", &record, &err), 0);
	CHECK_INT(record.kind, RECORD_COUNT);
	CHECK_INT(record.unit, RECORD_COUNT_UNIT);
	CHECK_INT(
		record_parse("info cipher TLS_AES_256_GCM_SHA384 over TCP", &record, &err), 0);
	CHECK_INT(record.kind, RECORD_INFO);
	CHECK_TEXT(record.name, "cipher");
	CHECK_TEXT(record.text, "TLS_AES_256_GCM_SHA384 over TCP");
	CHECK_INT(record_parse("info note ", &record, &err), 0);
	CHECK_TEXT(record.text, "");
	CHECK_INT(record_parse("ready [::1]:4711", &record, &err), 0);
	CHECK_INT(record.kind, RECORD_READY);
	CHECK_TEXT(record.text, "[::1]:4711");
	CHECK_TEXT(err.text, "");
}

static void
refuses(void)
{
	static const char *const lines[] = {
		"",
		" ",
		"sample",
		"sample ",
		"sample connect",
		"sample connect ns",
		"sample connect ns ",
		"sample connect ns 1.5",
		"sample connect ns -1",
		"sample connect ns 1,5",
		"sample connect ns 1e3",
		"sample connect ns 0x10",
		"sample connect ns 1 ",
		"sample connect ns 1 2",
		"sample connect  ns 1",
		" sample connect ns 1",
		"sample connect us 1",
		"sample connect NS 1",
		"sample Connect ns 1",
		"sample 1connect ns 1",
		"sample con-nect ns 1",
		"sample connect ns 9223372036854775808",
		"Sample connect ns 1",
		"sample\tconnect ns 1",
		"sample connect ns 1\r",
		"count",
		"count connections",
		"count connections x",
		"count connections 1 1",
		"count connections ns 1",
		"info",
		"info ",
		"info Cipher x",
		"ready",
		"ready ",
		"hello world",
		"sample abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuv ns 1",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct record record;
		struct err err = {0};

		if (record_parse(lines[i], &record, &err) == 0)
			fprintf(stderr, "'%s' was taken for a record\n", lines[i]);
		CHECK_INT(record_parse(lines[i], &record, &err), -1);
		CU_ASSERT(!strncmp(err.text, "not a record: '", 15));
	}
}

static void
error_quotes_the_line(void)
{
	struct record record;
	struct err err;
	char line[300];

	record_parse("Segmentation fault", &record, &err);
	CHECK_TEXT(err.text, "not a record: 'Segmentation fault'");
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	CHECK_INT(record_parse(line, &record, &err), -1);
	CHECK_INT(strlen(err.text), strlen("not a record: ''") + 60);
}

/* One record of each kind, as written. */
static char *
written(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	record_sample(out, "connect", RECORD_NS, 1234567);
	record_sample(out, "goodput", RECORD_BYTES_PER_S, INT64_MAX);
	record_count(out, "connections", 1000000);
	record_info(out, "reason", "line one\nline %d\r", 2);
	fclose(out);
	return text;
}

static void
writes(void)
{
	char *text = written();

	CHECK_TEXT(text,
		"sample connect ns 1234567\nsample goodput bytes_per_s 9223372036854775807\n"
		"count connections 1000000\ninfo reason line one line 2 \n");
	free(text);
}

static void
writes_what_it_parses(void)
{
	char *text = written(), *rest = text, *line;
	int lines = 0;

	while ((line = strsep(&rest, "\n")) && *line) {
		struct record record;
		struct err err = {0};

		CHECK_INT(record_parse(line, &record, &err), 0);
		lines++;
	}
	CHECK_INT(lines, 4);
	free(text);
}

static void
units_have_names(void)
{
	static const enum record_unit all[] = {
		RECORD_NS, RECORD_BYTES, RECORD_BYTES_PER_S, RECORD_COUNT_UNIT};
	enum record_unit unit;

	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(record_unit_find(record_unit_name(all[i]), &unit), 0);
		CHECK_INT(unit, all[i]);
	}
	CHECK_INT(record_unit_find("us", &unit), -1);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"parses", parses},
		{"refuses", refuses},
		{"error quotes the line", error_quotes_the_line},
		{"writes", writes},
		{"writes what it parses", writes_what_it_parses},
		{"units have names", units_have_names},
		CU_TEST_INFO_NULL,
	};

	return check_main("record", tests);
}
