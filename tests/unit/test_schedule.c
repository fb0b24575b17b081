/* Cells that mostly wait may share; the others run alone, and repeats lie apart. */
#include "check.h"

#include <stdlib.h>

#include "run/command.h"
#include "run/schedule.h"

static struct profile near_profile, far_profile;
static struct cell cells[6];
static struct matrix matrix;
static char probe_name[] = "x";

static void
make_matrix(void)
{
	static char ids[6][16];

	near_profile = (struct profile){.loopback = true};
	far_profile = (struct profile){0};
	far_profile.path[UP].delay_ns = far_profile.path[DOWN].delay_ns = 10000000;
	for (int i = 0; i < 6; i++) {
		snprintf(ids[i], sizeof(ids[i]), "cell%d", i);
		cells[i] = (struct cell){.id = ids[i],
			.probe = probe_name,
			.family = 4,
			.samples = 10,
			.profile = i % 2 ? &far_profile : &near_profile,
			.deadline_ns = 1000000000};
	}
	matrix = (struct matrix){.seed = 1, .repeats = 3, .cells = cells, .cell_count = 6};
}

static void
test_shares(void)
{
	make_matrix();
	CU_ASSERT(!schedule_shares(&cells[0], 4));
	CU_ASSERT(schedule_shares(&cells[1], 4));
	CU_ASSERT(!schedule_shares(&cells[1], 1));
	far_profile.path[UP].delay_ns--; /* just under 20 ms */
	CU_ASSERT(!schedule_shares(&cells[1], 4));
}

static void
test_every_turn_once_and_repeats_apart(void)
{
	struct schedule schedule;
	int seen[6][4] = {{0}};

	make_matrix();
	schedule_make(&matrix, 4, &schedule);
	CHECK_INT(schedule.count, 18);
	for (size_t i = 0; i < schedule.count; i++) {
		const struct turn *turn = &schedule.turns[i];

		CHECK_INT(turn->repeat, (int64_t)(i / 6 + 1));
		seen[turn->cell][turn->repeat]++;
		/* the first three of each repeat run alone, the others share */
		CHECK_INT(schedule_shares(&cells[turn->cell], 4), i % 6 >= 3);
	}
	for (int cell = 0; cell < 6; cell++)
		for (int repeat = 1; repeat <= 3; repeat++)
			CHECK_INT(seen[cell][repeat], 1);
	schedule_free(&schedule);
}

static void
test_same_seed_same_order(void)
{
	struct schedule a, b, c;
	size_t differ = 0;

	make_matrix();
	schedule_make(&matrix, 1, &a);
	schedule_make(&matrix, 1, &b);
	matrix.seed = 2;
	schedule_make(&matrix, 1, &c);
	for (size_t i = 0; i < a.count; i++) {
		CHECK_INT(a.turns[i].cell, b.turns[i].cell);
		differ += a.turns[i].cell != c.turns[i].cell;
	}
	CU_ASSERT(differ > 0);
	schedule_free(&a);
	schedule_free(&b);
	schedule_free(&c);
}

static void
check_command(struct command *command, const char *expected)
{
	char line[1024] = "";

	for (size_t i = 0; i < command->count; i++) {
		strcat(line, i ? " " : "");
		strcat(line, command->argv[i]);
	}
	CHECK_TEXT(line, expected);
	CU_ASSERT_PTR_NULL(command->argv[command->count]);
	command_free(command);
}

static void
test_command_lines(void)
{
	struct setting settings[] = {
		{(char[]){"mode"}, (char[]){"on"}}, {(char[]){"size"}, (char[]){"64b"}}};
	struct command command = {0};

	make_matrix();
	cells[1].options = (struct settings){settings, 2};
	cells[1].family = 6;
	far_profile.file = (char[]){"netem/wan20.yaml"};
	command_serve(&command, &cells[1], "bin");
	check_command(&command,
		"bin/probe-x serve --listen [fd52:7474:6d61::2]:0 --deadline 11s "
		"mode=on size=64b");
	command_run(&command, &cells[1], "bin", "[fd52:7474:6d61::2]:8080");
	check_command(&command, "bin/probe-x run --peer [fd52:7474:6d61::2]:8080 --samples 10 "
				"--deadline 1s mode=on size=64b");
	cells[0].command = (char[]){"./mine"};
	command_serve(&command, &cells[0], "bin");
	check_command(&command, "./mine serve --listen 127.0.0.1:0 --deadline 11s");
	command_link_up(&command, &cells[1], "bin", "tun", INT64_MAX);
	check_command(&command,
		"bin/rttlink up --profile netem/wan20.yaml --backend tun --seed "
		"9223372036854775807 --near /proc/self/fd/3 --far /proc/self/fd/4");
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"shares", test_shares},
		{"every turn once, repeats apart", test_every_turn_once_and_repeats_apart},
		{"same seed, same order", test_same_seed_same_order},
		{"command lines", test_command_lines},
		CU_TEST_INFO_NULL,
	};

	return check_main("schedule", tests);
}
