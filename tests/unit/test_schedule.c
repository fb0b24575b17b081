/* Cells that mostly wait may share; the others run alone, and repeats lie apart. */
#include "check.h"

#include <stdlib.h>

#include "run/command.h"
#include "run/docker.h"
#include "run/runtime.h"
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
	struct runtime runtime = {.kind = &runtime_netns, .bin = "bin", .link = "tun"};
	struct place place = {.runtime = &runtime, .near = -1, .far = -1};
	struct command command = {0};

	make_matrix();
	cells[1].options = (struct settings){settings, 2};
	cells[1].family = 6;
	far_profile.file = (char[]){"netem/wan20.yaml"};
	command_serve(&command, &cells[1]);
	check_command(&command, "serve --listen [fd52:7474:6d61::2]:0 --deadline 11s "
				"mode=on size=64b");
	command_run(&command, &cells[1], "[fd52:7474:6d61::2]:8080");
	check_command(&command, "run --peer [fd52:7474:6d61::2]:8080 --samples 10 "
				"--deadline 1s mode=on size=64b");
	command_serve(&command, &cells[0]);
	check_command(&command, "serve --listen 127.0.0.1:0 --deadline 11s");
	command_link_up(&command, &place, &far_profile, INT64_MAX, 60000000000);
	check_command(&command,
		"up --profile netem/wan20.yaml --backend tun --seed "
		"9223372036854775807 --deadline 60s --near /proc/self/fd/3 --far /proc/self/fd/4");
	place.agent = (char[]){"/run/rttlink/7"};
	far_profile.text = (char[]){"rtt: 20ms\n"};
	command_link_up(&command, &place, &far_profile, 1, 1000000000);
	check_command(&command,
		"up --yaml rtt: 20ms\n --backend tun --seed 1 --deadline 1s --near "
		"/proc/self/ns/net --far agent:/run/rttlink/7");
	command_link_agent(&command, &place, 1000000000);
	check_command(&command, "agent --listen /run/rttlink/7 --deadline 1s");
}

/* Which program, and where it starts. */
static void
test_programs(void)
{
	struct runtime runtime = {.kind = &runtime_netns, .bin = "bin"};
	struct place place = {.runtime = &runtime, .near = 10, .far = 11};
	struct child_spec spec = CHILD_SPEC;
	struct command command = {0};
	struct err err;

	make_matrix();
	runtime_netns.begin(&place, ROLE_SERVER, &cells[1], &command, &spec);
	check_command(&command, "bin/probe-x");
	CHECK_INT(spec.netns, 11);
	cells[1].command = (char[]){"./mine"};
	runtime_netns.begin(&place, ROLE_CLIENT, &cells[1], &command, &spec);
	check_command(&command, "./mine");
	CHECK_INT(spec.netns, 10);
	spec = (struct child_spec)CHILD_SPEC;
	runtime_netns.begin(&place, ROLE_LINK, NULL, &command, &spec);
	check_command(&command, "bin/rttlink");
	CHECK_INT(spec.netns, -1);
	CHECK_INT(spec.pass_ns[0], 10);
	CHECK_INT(spec.pass_ns[1], 11);

	/* What has both a command: and an image: runs anywhere. */
	CHECK_INT(runtime_netns.takes(&runtime, &cells[1], &err), 0);
	cells[1].image = (char[]){"mine:1"};
	CHECK_INT(runtime_netns.takes(&runtime, &cells[1], &err), 0);
	cells[1].command = NULL;
	CHECK_INT(runtime_netns.takes(&runtime, &cells[1], &err), -1);
}

static void
check_has(const struct command *command, const char *words)
{
	char line[2048] = "";

	for (size_t i = 0; i < command->count; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), " %s",
			command->argv[i]);
	if (!strstr(line, words))
		printf("'%s' is not in '%s'\n", words, line);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, words));
}

/* tests/system/docker.sh looks at the containers themselves. */
static void
test_containers(void)
{
	struct docker docker = {
		.mark = (char[]){"1:2:3:host"},
		.name = (char[]){"rttmatrix-1-2"},
		.images = {.probes.id = (char[]){"sha256:p"}, .link.id = (char[]){"sha256:l"}},
	};
	struct runtime runtime = {.kind = &runtime_docker, .link = "netem", .docker = &docker};
	struct child_spec spec = CHILD_SPEC;
	struct command command = {0};
	struct place place;
	struct err err;

	make_matrix();
	setenv("DOCKER", "engine", 1);
	CHECK_INT(runtime_docker.open(&runtime, true, &place, &err), 0);
	runtime_docker.begin(&place, ROLE_CLIENT, &cells[1], &command, &spec);
	check_has(&command, " engine run --rm --pull never ");
	check_has(&command, " --cap-drop ALL --read-only --security-opt no-new-privileges ");
	check_has(&command, " --label rttmatrix.run=1:2:3:host ");
	check_has(&command, "-near --entrypoint /probe-x sha256:p");
	check_has(&command, " --user 65534:65534 ");
	CU_ASSERT_FALSE(spec.hold_stdin);
	command_free(&command);
	runtime_docker.begin(&place, ROLE_LINK, NULL, &command, &spec);
	check_has(&command, " --network none ");
	check_has(&command, " --cap-add NET_ADMIN --mount type=volume,src=rttmatrix-1-2,");
	CU_ASSERT_TRUE(spec.hold_stdin);
	command_free(&command);
	runtime.link = "tun";
	runtime_docker.begin(&place, ROLE_AGENT, NULL, &command, &spec);
	check_has(&command,
		" --cap-add NET_ADMIN --cap-add SYS_NICE --cpu-shares 262144 --device /dev/net/tun ");
	command_free(&command);

	/* The image's entry point is the probe; a program of this machine is not there. */
	cells[1].command = (char[]){"./mine"};
	CHECK_INT(runtime_docker.takes(&runtime, &cells[1], &err), -1);
	cells[1].image = (char[]){"mine:1"};
	runtime_docker.begin(&place, ROLE_SERVER, &cells[1], &command, &spec);
	CHECK_TEXT(command.argv[command.count - 1], "mine:1");
	check_has(&command, "-far mine:1");
	command_free(&command);
	runtime_docker.close(&place, true);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"shares", test_shares},
		{"every turn once, repeats apart", test_every_turn_once_and_repeats_apart},
		{"same seed, same order", test_same_seed_same_order},
		{"command lines", test_command_lines},
		{"programs", test_programs},
		{"containers", test_containers},
		CU_TEST_INFO_NULL,
	};

	return check_main("schedule", tests);
}
