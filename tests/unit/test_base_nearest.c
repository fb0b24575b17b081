/* Suggestions for mistyped names. */
#include "check.h"

#include <stdbool.h>

#include "base/nearest.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
suggests(void)
{
	static const char *const names[] = {
		"repeats", "profiles", "families", "samples", "cells", "seed", "rtt"};
	static const struct {
		const char *word, *name;
	} cases[] = {
		{"repeat", "repeats"},
		{"reapets", "repeats"},
		{"profile", "profiles"},
		{"sampels", "samples"},
		{"sed", "seed"},
		{"esed", "seed"},
		{"cell", "cells"},
		{"seed", "seed"},
		{"rt", "rtt"},
		{"trt", "rtt"},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		CHECK_TEXT(nearest_name(cases[i].word, names, COUNT(names)), cases[i].name);
}

static void
stays_silent(void)
{
	static const char *const names[] = {"repeats", "rtt"};
	char word[200];

	CHECK_INT(nearest_name("banana", names, 2) == NULL, true);
	CHECK_INT(nearest_name("", names, 2) == NULL, true);
	CHECK_INT(nearest_name("xy", names, 2) == NULL, true);
	CHECK_INT(nearest_name("repeats", names, 0) == NULL, true);
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	CHECK_INT(nearest_name(word, names, 2) == NULL, true);
}

/* Of several, the closest; of equally close, the first. */
static void
chooses(void)
{
	static const char *const names[] = {"wait", "waits", "wail"};

	CHECK_TEXT(nearest_name("waits", names, 3), "waits");
	CHECK_TEXT(nearest_name("waif", names, 3), "wait");
}

static void
survives_long_names(void)
{
	char name[200];
	const char *const names[] = {name, "seed"};

	memset(name, 's', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK_TEXT(nearest_name("sede", names, 2), "seed");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"suggests", suggests},
		{"stays silent", stays_silent},
		{"chooses", chooses},
		{"survives long names", survives_long_names},
		CU_TEST_INFO_NULL,
	};

	return check_main("base nearest", tests);
}
