/* The account of numbered messages. */
#include "probe/arrivals.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

#define LATE_NS (5 * NS_PER_MS)

void
arrivals_init(struct arrivals *arrivals, int64_t count)
{
	*arrivals = (struct arrivals){.count = count};
	arrivals->delay_ns = alloc_zero((size_t)count, sizeof(int64_t));
	for (int64_t i = 0; i < count; i++)
		arrivals->delay_ns[i] = -1;
}

void
arrivals_free(struct arrivals *arrivals)
{
	free(arrivals->delay_ns);
	*arrivals = (struct arrivals){0};
}

int
arrivals_note(struct arrivals *arrivals, int64_t number, int64_t delay_ns, struct err *err)
{
	if (number < 0 || number >= arrivals->count)
		return err_set(err, "message %" PRId64 " came, but they end before %" PRId64,
			number, arrivals->count);
	if (delay_ns < 0)
		return err_set(err, "message %" PRId64 " came before it was sent", number);
	if (arrivals->delay_ns[number] >= 0) {
		arrivals->duplicates++;
		return 0;
	}
	arrivals->delay_ns[number] = delay_ns;
	arrivals->delivered++;
	if (number < arrivals->next)
		return 0;
	arrivals->next = number + 1;
	arrivals->in_order++;
	return 0;
}

int
arrivals_close(const struct arrivals *arrivals, int64_t sent, int64_t buffer, int64_t *network,
	struct err *err)
{
	int64_t missing = sent - arrivals->delivered;

	if (arrivals->next > sent)
		return err_set(err, "message %" PRId64 " came, but only %" PRId64 " were sent",
			arrivals->next - 1, sent);
	if (buffer > missing)
		return err_set(err,
			"the receive buffer dropped %" PRId64 " messages, but only %" PRId64
			" of %" PRId64 " are missing: does the path duplicate?",
			buffer, missing, sent);
	*network = missing - buffer;
	return 0;
}

int64_t
arrivals_late(const int64_t *delay_ns, int64_t count)
{
	int64_t least = INT64_MAX, late = 0;

	for (int64_t i = 0; i < count; i++)
		if (delay_ns[i] >= 0 && delay_ns[i] < least)
			least = delay_ns[i];
	for (int64_t i = 0; i < count; i++)
		late += delay_ns[i] >= 0 && delay_ns[i] - least > least + LATE_NS;
	return late;
}
