/* Reading the kernel's counters: a line of names, below it a line of values, for each group. */
#include "net/netstat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"

#define NETSTAT_MAX (1 << 20)

/* The line behind this one; NULL at the end. */
static const char *
next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] ? end + 1 : NULL;
}

/* Is it "GROUP: …"? What follows the colon, or NULL. */
static const char *
fields_of(const char *line, const char *group)
{
	size_t len = strlen(group);

	if (!line || strncmp(line, group, len) != 0 || line[len] != ':')
		return NULL;
	return line + len + 1;
}

/* The next field of a line: its length, *at moved to its start. 0 at the end of the line. */
static size_t
field_at(const char **at)
{
	*at += strspn(*at, " ");
	return strcspn(*at, " \n");
}

static int
value_below(const char *names, const char *values, const char *name, int64_t *value)
{
	size_t len, value_len;

	for (; (len = field_at(&names)) > 0 && (value_len = field_at(&values)) > 0;
		names += len, values += value_len)
		if (len == strlen(name) && strncmp(names, name, len) == 0)
			return sscanf(values, "%" SCNd64, value) == 1 ? 0 : -1;
	return -1;
}

int
netstat_find(const char *path, const char *text, const char *group, const char *name,
	int64_t *value, struct err *err)
{
	for (const char *line = text; line; line = next_line(line)) {
		const char *names = fields_of(line, group);
		const char *values = names ? fields_of(next_line(line), group) : NULL;

		if (values && value_below(names, values, name, value) == 0)
			return 0;
	}
	return err_set(err, "%s has no counter %s of %s", path, name, group);
}

static int
read_from(
	const char *path, const char *group, const char *name, int64_t *value, struct err *err)
{
	struct buf text = {0};
	int status = file_read(path, NETSTAT_MAX, &text, err);

	if (status == 0)
		status = netstat_find(path, buf_text(&text), group, name, value, err);
	buf_free(&text);
	return status;
}

int
netstat_read(const char *group, const char *name, int64_t *value, struct err *err)
{
	if (read_from("/proc/net/snmp", group, name, value, NULL) == 0)
		return 0;
	return read_from("/proc/net/netstat", group, name, value, err);
}
