/* Logarithms by repeated squaring. */
#include "report/scale.h"

#define FRACTION_BITS 16

static int64_t
log2_fixed(int64_t value)
{
	int whole = 63 - __builtin_clzll((unsigned long long)value);
	/* in [1, 2), with 31 bits behind the point */
	uint64_t rest = whole > 31 ? (uint64_t)value >> (whole - 31)
				   : (uint64_t)value << (31 - whole);
	int64_t result = whole;

	for (int i = 0; i < FRACTION_BITS; i++) {
		rest = rest * rest >> 31;
		result = result * 2 + (rest >> 32 ? 1 : 0);
		rest >>= rest >> 32;
	}
	return result;
}

int64_t
report_scale_next(int64_t tick)
{
	int64_t lead = tick, next;

	while (lead >= 10)
		lead /= 10;
	if (lead == 2)
		return tick / 2 * 5;
	return __builtin_mul_overflow(tick, 2, &next) ? INT64_MAX : next;
}

void
report_scale_fit(struct report_scale *scale, int64_t least, int64_t most, int64_t width)
{
	int64_t low = 1, high;

	while (low < INT64_MAX && report_scale_next(low) <= least)
		low = report_scale_next(low);
	high = report_scale_next(low);
	while (high < most)
		high = report_scale_next(high);
	*scale = (struct report_scale){low, high, width};
}

int64_t
report_scale_at(const struct report_scale *scale, int64_t value)
{
	int64_t low = log2_fixed(scale->low), high = log2_fixed(scale->high);

	if (value <= scale->low)
		return 0;
	if (value >= scale->high)
		return scale->width;
	return (log2_fixed(value) - low) * scale->width / (high - low);
}
