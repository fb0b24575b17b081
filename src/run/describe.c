/* Parses what `probe-X describe` prints: docker/CONTRACT.md. */
#include "run/catalogue.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

/* Cut the next word off `*text`, which is moved behind it and its space; NULL at the end. */
static char *
take_word(char **text)
{
	char *word = *text;
	size_t len = strcspn(word, " ");

	if (len == 0)
		return NULL;
	*text = word + len + strspn(word + len, " ");
	word[len] = '\0';
	return word;
}

static bool
is_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return *name >= 'a' && *name <= 'z' && !name[len] && len < RECORD_NAME_SIZE;
}

static int
find_type(const char *name, enum opt_type *type)
{
	static const char *const names[] = {
		[OPT_FLAG] = "flag",
		[OPT_TEXT] = "text",
		[OPT_COUNT] = "count",
		[OPT_DURATION] = "duration",
		[OPT_SIZE] = "size",
		[OPT_CHOICE] = "choice",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name))
			continue;
		*type = (enum opt_type)i;
		return 0;
	}
	return -1;
}

static int
parse_limit(enum opt_type type, const char *text, int64_t *value, struct err *err)
{
	if (type == OPT_DURATION)
		return units_parse(UNIT_DURATION, text, value, err);
	if (type == OPT_SIZE)
		return units_parse(UNIT_SIZE, text, value, err);
	return units_parse_count(text, value, err);
}

/* "MIN..MAX" or "MIN.."; a fraction in MIN ("0.5ms..2s") has only single dots. */
static int
parse_range(struct opt *option, const char *values, struct err *err)
{
	const char *dots = strstr(values, "..");
	char *low;
	int status;

	if (!dots)
		return err_set(err, "range '%s' is not of the form MIN..MAX", values);
	low = alloc_text_n(values, (size_t)(dots - values));
	status = parse_limit(option->type, low, &option->min, err);
	free(low);
	if (!status && dots[2])
		status = parse_limit(option->type, dots + 2, &option->max, err);
	return status;
}

static int
parse_values(struct opt *option, const char *values, struct err *err)
{
	bool given = strcmp(values, "-") != 0;

	if (option->type == OPT_CHOICE) {
		if (!given)
			return err_set(err, "choice '%s' has no values", option->name);
		option->choices = alloc_text(values);
		return 0;
	}
	if (!given || option->type == OPT_FLAG || option->type == OPT_TEXT)
		return 0;
	return parse_range(option, values, err);
}

static int
check_default(const struct probe_desc *probe, const struct opt *option, struct err *err)
{
	if (!option->default_text || option->type == OPT_TEXT)
		return 0;
	if (probe_desc_check(probe, option->name, option->default_text, err) < 0)
		return err_prefix(err, "default");
	return 0;
}

/* "NAME TYPE VALUES DEFAULT HELP…" */
static int
parse_option(struct probe_desc *probe, char *line, struct err *err)
{
	char *name = take_word(&line), *type = take_word(&line);
	char *values = take_word(&line), *default_text = take_word(&line);
	size_t count = probe->option_count;
	struct opt *option;

	if (!default_text)
		return err_set(err, "expected option NAME TYPE VALUES DEFAULT HELP");
	if (!is_name(name))
		return err_set(err, "'%s' is not an option name", name);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(probe->options[i].name, name))
			return err_set(err, "option '%s' twice", name);
	probe->options = alloc_resize(probe->options, count + 2, sizeof(*option));
	option = &probe->options[count];
	memset(option, 0, 2 * sizeof(*option)); /* this one and the end of the table */
	if (find_type(type, &option->type) < 0)
		return err_set(err, "unknown option type '%s'", type);
	option->name = alloc_text(name);
	option->help = alloc_text(line);
	if (strcmp(default_text, "-"))
		option->default_text = alloc_text(default_text);
	probe->option_count++;
	if (parse_values(option, values, err) < 0)
		return -1;
	return check_default(probe, option, err);
}

/* "NAME UNIT HELP…" */
static int
parse_metric(struct probe_desc *probe, char *line, struct err *err)
{
	char *name = take_word(&line), *unit = take_word(&line);
	struct probe_metric *metric;

	if (!unit)
		return err_set(err, "expected metric NAME UNIT HELP");
	if (!is_name(name))
		return err_set(err, "'%s' is not a metric name", name);
	for (size_t i = 0; i < probe->metric_count; i++)
		if (!strcmp(probe->metrics[i].name, name))
			return err_set(err, "metric '%s' twice", name);
	probe->metrics = alloc_resize(probe->metrics, probe->metric_count + 1, sizeof(*metric));
	metric = &probe->metrics[probe->metric_count];
	if (record_unit_find(unit, &metric->unit) < 0)
		return err_set(err, "unknown unit '%s'", unit);
	metric->name = alloc_text(name);
	metric->help = alloc_text(line);
	probe->metric_count++;
	return 0;
}

/* "REASON…" */
static int
parse_loopback(struct probe_desc *probe, const char *line, struct err *err)
{
	if (!*line)
		return err_set(err, "expected loopback REASON");
	if (probe->loopback)
		return err_set(err, "loopback twice");
	probe->loopback = alloc_text(line);
	return 0;
}

static int
parse_line(struct probe_desc *probe, char *line, struct err *err)
{
	char *word = take_word(&line);

	if (!word)
		return 0;
	if (!strcmp(word, "check")) {
		probe->checks = true;
		return 0;
	}
	if (!strcmp(word, "loopback"))
		return parse_loopback(probe, line, err);
	if (!strcmp(word, "option"))
		return parse_option(probe, line, err);
	if (!strcmp(word, "metric"))
		return parse_metric(probe, line, err);
	return err_set(
		err, "expected 'option', 'metric', 'check' or 'loopback', not '%.40s'", word);
}

int
catalogue_parse(const char *name, const char *text, struct probe_desc *probe, struct err *err)
{
	char *copy = alloc_text(text), *rest = copy, *line;
	int number = 0, status = 0;

	*probe = (struct probe_desc){.name = alloc_text(name)};
	probe->options = alloc_zero(1, sizeof(*probe->options));
	while (!status && (line = strsep(&rest, "\n"))) {
		number++;
		status = parse_line(probe, line, err);
	}
	if (status)
		err_prefix(err, "probe-%s describe: line %d", name, number);
	else if (!probe->metric_count)
		status = err_set(err, "probe-%s describe: no metrics", name);
	free(copy);
	if (status)
		probe_desc_free(probe);
	return status;
}
