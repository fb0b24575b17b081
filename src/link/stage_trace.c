/* A recorded link, as mahimahi replays one: each delivery takes up to TRACE_BYTES of what
 * waits.
 *
 * Several small packets may share a delivery, and a packet that does not fit into the rest of
 * one is through with the next. A delivery that nothing waits for is lost: what comes at its
 * time or later takes the next. From its end the trace starts again. Deliveries are numbered on
 * through all laps; as long as something waits, those up to `next` are full. */
#include "link/stage.h"

#include "link/trace.h"

struct replay {
	const struct trace *trace;
	int64_t queue_bytes; /* 0: no bound here */
	int64_t next;        /* number of the delivery that the next packet may go with */
	int64_t room;        /* bytes it has left */
};

static bool
wanted(const struct impairment *path)
{
	return path->trace != NULL;
}

static void
start(void *state, const struct impairment *path, const struct rng *rng)
{
	struct replay *replay = state;

	(void)rng;
	replay->trace = path->trace;
	replay->queue_bytes = path->queue_bytes;
	replay->room = TRACE_BYTES;
}

static int64_t
delivery_ns(const struct trace *trace, int64_t number)
{
	int64_t count = (int64_t)trace->count;

	return number / count * trace->length_ns + trace->at_ns[number % count];
}

/* The first delivery after `now_ns`. */
static int64_t
first_after(const struct trace *trace, int64_t now_ns)
{
	int64_t within_ns = now_ns % trace->length_ns;
	size_t low = 0, high = trace->count - 1;

	/* There is always one: the last is at length_ns. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace->at_ns[middle] > within_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return now_ns / trace->length_ns * (int64_t)trace->count + (int64_t)low;
}

/* Is there room for `len` more bytes to wait? */
static bool
has_room(const struct replay *replay, uint32_t len, int64_t now_ns)
{
	int64_t ahead;

	if (replay->queue_bytes == 0)
		return true;
	ahead = replay->next - first_after(replay->trace, now_ns) + 1;
	return ahead * TRACE_BYTES - replay->room + (int64_t)len <= replay->queue_bytes;
}

static void
pass(void *state, struct packet *packet, int64_t now_ns, struct outlet *out)
{
	struct replay *replay = state;
	int64_t origin_ns = outlet_origin(out), need = packet->len;

	if (delivery_ns(replay->trace, replay->next) <= now_ns - origin_ns) {
		replay->next = first_after(replay->trace, now_ns - origin_ns);
		replay->room = TRACE_BYTES;
	}
	if (!has_room(replay, packet->len, now_ns - origin_ns)) {
		outlet_drop(out, packet, PACKET_DROPPED);
		return;
	}
	while (need > replay->room) {
		need -= replay->room;
		replay->next++;
		replay->room = TRACE_BYTES;
	}
	replay->room -= need;
	outlet_send(out, packet, origin_ns + delivery_ns(replay->trace, replay->next));
}

static void
succeed(void *state, const void *before)
{
	struct replay *replay = state;
	const struct replay *until_now = before;

	if (replay->trace == until_now->trace) {
		replay->next = until_now->next;
		replay->room = until_now->room;
	}
}

const struct stage_ops stage_trace = {
	.name = "trace",
	.state_size = sizeof(struct replay),
	.wanted = wanted,
	.start = start,
	.pass = pass,
	.succeed = succeed,
};
