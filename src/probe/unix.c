/* What is left of a round trip between two processes of one machine: Unix sockets, TCP on the
 * loopback, socket pairs and pipes (local_path.h), with the same client and server behind each.
 *
 *   pingpong  N times: one message of `size` bytes there, its echo back (round_trip)
 *   bulk      N times: `bytes` bytes there in writes of `size`, one byte back (throughput)
 *
 * This is the client; unix_serve.c is its server. */
#include "probe/probe.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "probe/channel.h"
#include "probe/local_path.h"
#include "probe/unix.h"

#define PARTS_MAX (64 << 10) /* both directions fill up at once: this much fits into any */

static const struct opt option_table[] = {
	PLACEMENT_OPTIONS(struct unix_options, placement),
	{.name = "path",
		.type = OPT_CHOICE,
		.offset = offsetof(struct unix_options, path),
		.default_text = "unix",
		.choices = LOCAL_WAYS,
		.help = "what is between the two processes"},
	{.name = "pattern",
		.type = OPT_CHOICE,
		.offset = offsetof(struct unix_options, pattern),
		.default_text = "pingpong",
		.choices = "pingpong|bulk",
		.help = "a message and its echo, or all one way"},
	{.name = "size",
		.type = OPT_SIZE,
		.offset = offsetof(struct unix_options, size),
		.default_text = "64b",
		.min = 1,
		.max = 1 << 20,
		.help = "bytes of a message, and of a write of pattern=bulk"},
	{.name = "bytes",
		.type = OPT_SIZE,
		.offset = offsetof(struct unix_options, bytes),
		.default_text = "20mb",
		.min = 1,
		.max = INT64_C(64) << 30,
		.help = "pattern=bulk: bytes of each sample"},
	{.name = "write",
		.type = OPT_CHOICE,
		.offset = offsetof(struct unix_options, write),
		.default_text = "one",
		.choices = "one|two",
		.help = "the client sends a message whole, or in two halves"},
	{.name = "echo",
		.type = OPT_CHOICE,
		.offset = offsetof(struct unix_options, echo),
		.default_text = "whole",
		.choices = "whole|parts",
		.help = "the server answers once it has all of it, or each part as it comes"},
	{.name = "nodelay",
		.type = OPT_CHOICE,
		.offset = offsetof(struct unix_options, nodelay),
		.default_text = "on",
		.choices = "on|off",
		.help = "path=tcp: TCP_NODELAY, on both sides"},
	{.name = "file",
		.type = OPT_TEXT,
		.offset = offsetof(struct unix_options, file),
		.choices = "PATH",
		.help = "the Unix socket is this file of up to 107 bytes, not an abstract one"},
	{0},
};

static const struct metric metric_table[] = {
	{"round_trip", RECORD_NS,
		"from before the first write of a message to the last byte of its echo: two "
		"switches between processes, no link"},
	{"throughput", RECORD_BYTES_PER_S,
		"`bytes`, from before the first write to the byte that says that all was read"},
	{"waits", RECORD_COUNT_UNIT,
		"how often the client gave up its core to wait, over all samples (getrusage)"},
	{"switches", RECORD_COUNT_UNIT,
		"how often it left its core, also for another to run: one a round trip at least "
		"where both share a core"},
	{"messages", RECORD_COUNT_UNIT, "pattern=pingpong: measured messages the server read"},
	{"server_bytes", RECORD_COUNT_UNIT, "pattern=bulk: bytes the server read"},
	{"server_waits", RECORD_COUNT_UNIT,
		"as waits, of the server: from the warm-up to the end"},
	{0},
};

static int
check_parts(const struct unix_options *options, struct err *err)
{
	bool apart = options->write == WRITE_TWO || options->echo == ECHO_PARTS;

	if (apart && options->pattern == BULK)
		return err_set(err, "write=two and echo=parts are of pattern=pingpong");
	if (options->write == WRITE_TWO && options->size < 2)
		return err_set(err, "write=two needs a message of at least 2 bytes");
	if (options->echo == ECHO_PARTS && options->size > PARTS_MAX)
		return err_set(err, "echo=parts takes messages of up to 64kib: of larger ones "
				    "both sides could wait for each other");
	return 0;
}

static int
check(const void *data, struct err *err)
{
	const struct unix_options *options = data;
	struct local_path path = unix_path(options);

	if (placement_check(&options->placement, err) < 0 || check_parts(options, err) < 0)
		return -1;
	return local_path_check(&path, err);
}

struct client {
	const struct probe_call *call;
	const struct unix_options *options;
	struct wait wait;
	struct channel channel;
	size_t size;
	char *message, *reply;
	int64_t *values;
	struct cpu_switches switches;
};

/* A message no other is like, so that an echo of something else is noticed. */
static void
fill_message(struct client *client, char kind, uint64_t serial)
{
	size_t room = client->size - 1;

	client->message[0] = kind;
	memcpy(client->message + 1, &serial, room < sizeof(serial) ? room : sizeof(serial));
}

static int
exchange(struct client *client, struct err *err)
{
	size_t first = client->options->write == WRITE_TWO ? client->size / 2 : client->size;

	if (channel_send(&client->channel, client->message, first, err) < 0 ||
		channel_send(&client->channel, client->message + first, client->size - first,
			err) < 0)
		return -1;
	return channel_receive_all(&client->channel, client->reply, client->size, err);
}

static int
exchange_checked(
	struct client *client, char kind, uint64_t serial, int64_t *took_ns, struct err *err)
{
	int64_t start;

	fill_message(client, kind, serial);
	start = clock_now();
	if (exchange(client, err) < 0)
		return -1;
	*took_ns = clock_now() - start;
	if (memcmp(client->message, client->reply, client->size) == 0)
		return 0;
	return err_set(err, "the reply is not an echo of the request");
}

static int
pingpong(struct client *client, struct err *err)
{
	struct cpu_switches before;
	int64_t unused;

	if (exchange_checked(client, UNIX_WARM_UP, 0, &unused, err) < 0)
		return -1;
	cpu_switches(&before);
	for (int64_t i = 0; i < client->call->samples; i++)
		if (exchange_checked(
			    client, UNIX_MEASURED, (uint64_t)i, &client->values[i], err) < 0)
			return -1;
	cpu_switches_add(&before, &client->switches);
	return exchange_checked(client, UNIX_END, 0, &unused, err);
}

static int
transfer(struct client *client, struct err *err)
{
	int64_t left = client->options->bytes;

	while (left > 0) {
		size_t now = left < (int64_t)client->size ? (size_t)left : client->size;

		if (channel_send(&client->channel, client->message, now, err) < 0)
			return -1;
		left -= (int64_t)now;
	}
	return channel_receive_all(&client->channel, client->reply, 1, err);
}

static int
bulk(struct client *client, struct err *err)
{
	struct cpu_switches before;

	cpu_switches(&before);
	for (int64_t i = 0; i < client->call->samples; i++) {
		int64_t start = clock_now(), took;

		if (transfer(client, err) < 0)
			return -1;
		took = clock_now() - start;
		client->values[i] = (int64_t)((double)client->options->bytes /
					      (double)(took + !took) * (double)NS_PER_S);
	}
	cpu_switches_add(&before, &client->switches);
	return 0;
}

static void
print_results(const struct client *client)
{
	size_t samples = (size_t)client->call->samples;

	if (client->options->pattern == PINGPONG)
		probe_samples("round_trip", client->values, samples);
	for (size_t i = 0; client->options->pattern == BULK && i < samples; i++)
		record_sample(stdout, "throughput", RECORD_BYTES_PER_S, client->values[i]);
	record_count(stdout, "waits", client->switches.waits);
	record_count(stdout, "switches", client->switches.all);
}

static int
run(const struct probe_call *call, struct err *err)
{
	const struct unix_options *options = call->options;
	struct client client = {
		.call = call,
		.options = options,
		.wait = {(enum wait_how)options->placement.wait, call->deadline_ns},
		.channel = {.in = -1, .out = -1, .control = -1},
		.size = (size_t)options->size,
		.message = alloc_zero(1, (size_t)options->size),
		.reply = alloc_zero(1, (size_t)options->size),
		.values = alloc_zero((size_t)call->samples, sizeof(int64_t)),
	};
	struct local_path path = unix_path(options);
	int status = placement_apply(&options->placement, CPU_CLIENT, err);

	if (status)
		goto out;
	status = local_path_connect(&path, &call->addr, &client.wait, &client.channel, err);
	if (status == 0) {
		record_info(
			stdout, "send_buffer", "%d", local_path_buffer(&path, &client.channel));
		status = options->pattern == BULK ? bulk(&client, err) : pingpong(&client, err);
	}
	if (status == 0)
		print_results(&client);
out:
	channel_close(&client.channel);
	free(client.message);
	free(client.reply);
	free(client.values);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct probe unix_probe = {
		.name = "unix",
		.summary = "two processes of one machine: Unix sockets, TCP, pipes",
		.options = option_table,
		.options_size = sizeof(struct unix_options),
		.metrics = metric_table,
		.loopback = "Unix sockets and pipes do not cross a link",
		.check = check,
		.serve = unix_serve,
		.run = run,
	};

	return probe_main(&unix_probe, argc, argv);
}
