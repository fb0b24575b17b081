/* Sentences made of pairs of figures: two metrics of one cell, or one metric of two cells that
 * differ in one setting. A new question is a row of `questions`. And where the time of a whole
 * request went, phase by phase, with what is left of it in other variants. */
#include "report/headline.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/text.h"

/* One side: the metric, and the setting the variant must have (NULL: whatever it has). */
struct side {
	const char *metric;
	const char *setting;
	const char *words;
};

static const struct question {
	struct side dear, cheap;
	const char *gain; /* what makes the difference */
} questions[] = {
	{{"request_new", NULL, "a request on a new connection"},
		{"request_kept", NULL, "on a kept one"}, "keeping the connection"},
	{{"request", "mode=off", "an HTTP request without keep-alive"},
		{"request", "mode=on", "with it"}, "keep-alive"},
	{{"round_trip", "nodelay=off", "a message in two writes and its echo"},
		{"round_trip", "nodelay=on", "with TCP_NODELAY"}, "TCP_NODELAY"},
	{{"request_kept", "awake=off",
		 "a request on a kept connection, with cores that may sleep,"},
		{"request_kept", "awake=on", "with the cores kept awake"},
		"not waiting for a core to wake"},
};

/* The phases of a request, and what may be there from the request before. */
static const struct side phases[] = {
	{"phase_dns", NULL, "DNS"},
	{"phase_tcp", NULL, "TCP"},
	{"phase_tls", NULL, "TLS"},
	{"phase_wait", NULL, "the server's first byte"},
	{"phase_body", NULL, "the rest of the reply"},
};

#define PHASES (sizeof(phases) / sizeof(*phases))

static const struct side whole = {
	"total", "state=cold", "an HTTPS request with nothing to use again"};

static const struct side reuses[] = {
	{"total", "state=dns_cached", "the name cached"},
	{"total", "state=resumed", "the TLS session resumed too"},
	{"total", "state=early", "early data too"},
	{"total", "state=kept", "the connection kept"},
};

/* A cell and the metric in question, with a median in ns. */
struct figure {
	const struct report_cell *cell;
	const struct report_metric *metric;
};

static bool
find_figure(const struct report_group *group, size_t variant, size_t profile, const char *name,
	struct figure *figure)
{
	figure->cell = report_group_cell(group, variant, profile);
	figure->metric = report_cell_metric(figure->cell, name);
	return figure->metric && figure->metric->unit == RECORD_NS &&
	       figure->metric->figures.p50.known && figure->metric->figures.p50.value > 0;
}

/* The variant in which `from` is replaced by `to`; NULL when it does not have `from`. free()
 * it.
 */
static char *
replace_setting(const char *variant, const char *from, const char *to)
{
	size_t len = strlen(from);

	for (const char *at = variant; (at = strstr(at, from)); at += len)
		if ((at == variant || at[-1] == ';') && (!at[len] || at[len] == ';'))
			return alloc_printf(
				"%.*s%s%s", (int)(at - variant), variant, to, at + len);
	return NULL;
}

/* The variant in which a setting of `variant` is replaced; variant_count when there is none. */
static size_t
find_replaced(
	const struct report_group *group, size_t variant, const char *from, const char *to)
{
	char *other = replace_setting(group->variants[variant], from, to);
	size_t v = 0;

	while (v < group->variant_count && (!other || strcmp(group->variants[v], other)))
		v++;
	free(other);
	return v;
}

/* The variant that is the other side of `variant`; variant_count when there is none. */
static size_t
counterpart(const struct report_group *group, size_t variant, const struct question *question)
{
	if (!question->dear.setting)
		return variant;
	return find_replaced(group, variant, question->dear.setting, question->cheap.setting);
}

static void
begin_at(const struct report_page *page, const struct report_cell *cell)
{
	report_page_open(page, PAGE_ITEM);
	report_page_say(page, "At %s", cell->profile->name);
}

static void
add_figure(const struct report_page *page, const struct figure *figure)
{
	struct buf rtts = {0};

	report_text_value(page->out, RECORD_NS, figure->metric->figures.p50.value);
	report_cell_rtts(figure->cell, figure->metric, &rtts);
	if (rtts.len)
		report_page_say(page, " (%s RTT)", buf_text(&rtts));
	buf_free(&rtts);
}

/* `variant` less one of its settings, which the sentence says in words; free() it. */
static char *
without(const char *variant, const char *setting)
{
	struct buf rest = {0};
	char *kept;

	for (size_t len; *variant; variant += len + (variant[len] == ';')) {
		len = strcspn(variant, ";");
		if (setting && strlen(setting) == len && !strncmp(variant, setting, len))
			continue;
		buf_printf(&rest, "%s%.*s", rest.len ? ";" : "", (int)len, variant);
	}
	kept = alloc_text(buf_text(&rest));
	buf_free(&rest);
	return kept;
}

/* The variant that was taken, when the reader could take it for another. */
static void
add_variant(const struct report_page *page, const struct report_group *group,
	const char *variant, const char *setting)
{
	char *rest = without(variant, setting);

	if (group->variant_count > 1 && *rest && strcmp(rest, "default")) {
		report_page_say(page, ", with ");
		report_page_put(page, PAGE_CODE, "%s", rest);
		report_page_say(page, ",");
	}
	free(rest);
}

static void
add_pair(const struct report_page *page, const struct report_group *group,
	const struct question *question, const struct figure pair[2])
{
	int64_t dear = pair[0].metric->figures.p50.value;
	int64_t cheap = pair[1].metric->figures.p50.value;

	begin_at(page, pair[0].cell);
	add_variant(page, group, pair[0].cell->variant, question->dear.setting);
	report_page_say(page, " %s took ", question->dear.words);
	add_figure(page, &pair[0]);
	report_page_say(page, ", %s ", question->cheap.words);
	add_figure(page, &pair[1]);
	if (dear > cheap) {
		report_page_say(page, ": %s saves ", question->gain);
		report_text_value(page->out, RECORD_NS, dear - cheap);
		report_page_say(page, " a request (");
		report_text_times(page->out, dear, cheap);
		report_page_say(page, ")");
	}
	report_page_say(page, ".");
	report_page_close(page, PAGE_ITEM);
}

/* Answer one question at one profile: of the first variant that can. */
static bool
answer_at(const struct report_page *page, const struct question *question,
	const struct report_group *group, size_t profile)
{
	for (size_t v = 0; v < group->variant_count; v++) {
		size_t other = counterpart(group, v, question);
		struct figure pair[2];

		if (other == group->variant_count ||
			!find_figure(group, v, profile, question->dear.metric, &pair[0]) ||
			!find_figure(group, other, profile, question->cheap.metric, &pair[1]))
			continue;
		add_pair(page, group, question, pair);
		return true;
	}
	return false;
}

/* The farthest profile first: that is what is asked for. */
static bool
answer(const struct report_page *page, const struct question *question,
	const struct report_group *group)
{
	bool answered = false;

	for (size_t p = group->profile_count; p-- > 0;)
		answered |= answer_at(page, question, group, p);
	return answered;
}

/* Each phase with its share of all of them. */
static void
add_shares(const struct report_page *page, const struct figure shares[static PHASES])
{
	int64_t sum = 0;

	for (size_t i = 0; i < PHASES; i++)
		sum += shares[i].metric->figures.p50.value;
	for (size_t i = 0; i < PHASES; i++) {
		int64_t p50 = shares[i].metric->figures.p50.value;

		report_page_say(page, "%s %s ", i ? "," : ":", phases[i].words);
		report_text_value(page->out, RECORD_NS, p50);
		report_page_say(page, " (%lld%%)", (long long)report_text_scaled(p50, sum, 2));
	}
	report_page_say(page, ".");
}

static void
add_reuses(const struct report_page *page, const struct report_group *group, size_t variant,
	size_t profile)
{
	const char *before = " It took";

	for (size_t i = 0; i < sizeof(reuses) / sizeof(*reuses); i++) {
		size_t v = find_replaced(group, variant, whole.setting, reuses[i].setting);
		struct figure left;

		if (v == group->variant_count ||
			!find_figure(group, v, profile, reuses[i].metric, &left))
			continue;
		report_page_say(page, "%s ", before);
		add_figure(page, &left);
		report_page_say(page, " with %s", reuses[i].words);
		before = ",";
	}
	if (*before == ',')
		report_page_say(page, ".");
}

/* At one profile, of the first variant that has it all. */
static bool
answer_whole_at(
	const struct report_page *page, const struct report_group *group, size_t profile)
{
	for (size_t v = 0; v < group->variant_count; v++) {
		struct figure all, shares[PHASES];
		size_t found = 0;

		if (find_replaced(group, v, whole.setting, whole.setting) != v ||
			!find_figure(group, v, profile, whole.metric, &all))
			continue;
		while (found < PHASES &&
			find_figure(group, v, profile, phases[found].metric, &shares[found]))
			found++;
		if (found < PHASES)
			continue;
		begin_at(page, all.cell);
		add_variant(page, group, all.cell->variant, whole.setting);
		report_page_say(page, " %s took ", whole.words);
		add_figure(page, &all);
		add_shares(page, shares);
		add_reuses(page, group, v, profile);
		report_page_close(page, PAGE_ITEM);
		return true;
	}
	return false;
}

static bool
answer_whole(const struct report_page *page, const struct report_group *group)
{
	bool answered = false;

	for (size_t p = group->profile_count; p-- > 0;)
		answered |= answer_whole_at(page, group, p);
	return answered;
}

/* The first timed metric at the last profile that has it. */
static bool
answer_plainly(const struct report_page *page, const struct report_group *group)
{
	for (size_t m = 0; m < group->metric_count; m++) {
		for (size_t p = group->profile_count; p-- > 0;) {
			struct figure figure;
			size_t v = 0;

			while (v < group->variant_count &&
				!find_figure(group, v, p, group->metrics[m], &figure))
				v++;
			if (v == group->variant_count)
				continue;
			begin_at(page, figure.cell);
			add_variant(page, group, figure.cell->variant, NULL);
			report_page_say(page, " ");
			report_page_put(page, PAGE_CODE, "%s", group->metrics[m]);
			report_page_say(page, " of %s took ", group->probe);
			add_figure(page, &figure);
			report_page_say(page, ".");
			report_page_close(page, PAGE_ITEM);
			return true;
		}
	}
	return false;
}

void
report_headline(const struct report_group *groups, size_t count, const struct report_page *page)
{
	struct buf items = {0};
	const struct report_page list = {page->format, &items};
	bool answered = false;

	for (size_t q = 0; q < sizeof(questions) / sizeof(questions[0]); q++) {
		bool here = false;

		/* One address family says it. */
		for (size_t i = 0; i < count && !here; i++)
			here = answer(&list, &questions[q], &groups[i]);
		answered |= here;
	}
	for (size_t i = 0, here = 0; i < count && !here; i++) {
		here = answer_whole(&list, &groups[i]);
		answered |= here;
	}
	for (size_t i = 0; !answered && i < count; i++)
		answered = answer_plainly(&list, &groups[i]);
	if (items.len) {
		report_page_open(page, PAGE_LIST);
		buf_add(page->out, items.data, items.len);
		report_page_close(page, PAGE_LIST);
	}
	buf_free(&items);
}
