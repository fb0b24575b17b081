/* Sleep, nap, spin, and stalls.
 *
 * Sleeping is where accuracy is lost. An idle virtual core halts, and how late it wakes grows
 * with how long it slept: on the machine this was written on 17 us after 0.1 ms, 30 us after 1
 * ms, 130 us after 25 ms, twice that at the 99th percentile. So a long wait is cut in three:
 * sleep until DOZE_NS before the due time, which absorbs the late wake of a cold core; a short
 * nap until SPIN_NS before it, from which a core that was awake just now returns on time; and a
 * spin over the rest, about SPIN_NS less the nap's own lateness. The loop never spins longer
 * than SPIN_NS for a packet, and never with nothing in flight.
 *
 * A loop that is stopped, or gets no processor, sees nothing of it in its packets: those that
 * came meanwhile waited in the TUN device and are stamped when they are read. So every turn
 * notes when the next one has to begin: at once, or at the end of a sleep, which is LOOK_NS at
 * most even when nothing is in flight. A turn that begins later is a stall, and a packet may
 * have waited that long unseen, or LOOK_NS longer, if the stall began right after the loop
 * fell asleep. */
#include "link/pace.h"

#define SPIN_NS (60 * NS_PER_US)
#define DOZE_NS (400 * NS_PER_US)

/* The longest sleep: how much of a stall may go unnoticed, bought with 100 wakes a second. */
#define LOOK_NS (10 * NS_PER_MS)

static int64_t
wake_time(int64_t due_ns, int64_t now_ns)
{
	if (due_ns - now_ns > 2 * DOZE_NS)
		return due_ns - DOZE_NS;
	return due_ns - SPIN_NS;
}

int64_t
pace_sleep_ns(struct pace *pace, int64_t due_ns, int64_t now_ns)
{
	int64_t wait_ns = wake_time(due_ns, now_ns) - now_ns;

	pace_note(pace, now_ns);
	if (wait_ns <= 0)
		return 0;
	if (wait_ns > LOOK_NS)
		wait_ns = LOOK_NS;
	pace->look_ns = now_ns + wait_ns;
	return wait_ns;
}
