/* Makes and reads marks. */
#include "run/mark.h"

#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"

unsigned long long
mark_start_time(long pid)
{
	char *path = alloc_printf("/proc/%ld/stat", pid);
	struct buf text = {0};
	unsigned long long ticks = 0;
	char *at;

	/* Field 22; the second may hold anything up to its bracket. */
	if (file_read(path, 65536, &text, NULL) == 0 && (at = strrchr(text.data, ')'))) {
		for (int field = 2; field < 22 && at; field++) {
			at = strchr(at, ' ');
			at = at ? at + 1 : NULL;
		}
		if (at)
			ticks = strtoull(at, NULL, 10);
	}
	buf_free(&text);
	free(path);
	return ticks;
}

/* "PIDNS:HOST": where process numbers mean what they mean to us. */
static char *
here(void)
{
	char host[HOST_NAME_MAX + 1] = "";
	struct stat st = {0};

	stat("/proc/self/ns/pid", &st);
	gethostname(host, sizeof(host) - 1);
	return alloc_printf("%ju:%s", (uintmax_t)st.st_ino, host);
}

char *
mark_make(void)
{
	char *place = here();
	char *mark = alloc_printf(
		"%ld:%llu:%s", (long)getpid(), mark_start_time(getpid()), place);

	free(place);
	return mark;
}

void
mark_set(void)
{
	char *mark = mark_make();

	setenv(MARK_NAME, mark, 1);
	free(mark);
}

enum mark_state
mark_state(const char *mark)
{
	char *rest, *place;
	long pid = strtol(mark, &rest, 10);
	unsigned long long start = *rest == ':' ? strtoull(rest + 1, &rest, 10) : 0;
	enum mark_state state = MARK_ELSEWHERE;

	if (*rest != ':' || pid <= 0)
		return state;
	place = here();
	if (!strcmp(rest + 1, place))
		state = mark_start_time(pid) == start ? MARK_LIVES : MARK_DEAD;
	free(place);
	return state;
}
