/* `describe`: a probe's options and metrics, one a line, for the runner's catalogue. */
#include "probe/probe.h"

#include <string.h>

#include "base/units.h"

static const char *const type_words[] = {
	[OPT_FLAG] = "flag",
	[OPT_TEXT] = "text",
	[OPT_COUNT] = "count",
	[OPT_DURATION] = "duration",
	[OPT_SIZE] = "size",
	[OPT_CHOICE] = "choice",
	[OPT_WORD] = "choice",
	[OPT_LIST] = "text",
};

static void
print_number(const struct opt *option, int64_t number, FILE *out)
{
	char text[UNITS_TEXT_SIZE];

	if (option->type == OPT_COUNT)
		snprintf(text, sizeof(text), "%lld", (long long)number);
	else
		units_format(
			option->type == OPT_SIZE ? UNIT_SIZE : UNIT_DURATION, number, text);
	fputs(text, out);
}

static void
print_values(const struct opt *option, FILE *out)
{
	switch (option->type) {
	case OPT_CHOICE:
	case OPT_WORD:
		fputs(option->choices, out);
		return;
	case OPT_COUNT:
	case OPT_DURATION:
	case OPT_SIZE:
		print_number(option, option->min, out);
		fputs("..", out);
		if (option->max)
			print_number(option, option->max, out);
		return;
	default:
		fputc('-', out);
	}
}

void
probe_describe(const struct probe *probe, FILE *out)
{
	fputs("check\n", out); /* there is that command */
	if (probe->loopback)
		fprintf(out, "loopback %s\n", probe->loopback);
	for (const struct opt *option = probe->options; option->name; option++) {
		const char *value = option->default_text;

		fprintf(out, "option %s %s ", option->name, type_words[option->type]);
		print_values(option, out);
		fprintf(out, " %s %s\n", value && *value ? value : "-", option->help);
	}
	for (const struct metric *metric = probe->metrics; metric->name; metric++)
		fprintf(out, "metric %s %s %s\n", metric->name, record_unit_name(metric->unit),
			metric->help);
}
