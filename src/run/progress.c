/* Draws progress: to a terminal by rewriting one line, else a line a turn. */
#include "run/progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define CLEAR_LINE "\r\033[K"

void
progress_start(struct progress *progress, size_t total, bool quiet)
{
	const char *terminal = getenv("TERM"), *no_colour = getenv("NO_COLOR");
	bool live = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb");

	*progress = (struct progress){
		.out = stderr,
		.quiet = quiet,
		.live = live && !quiet,
		.colour = live && !(no_colour && *no_colour),
		.total = total,
		.start_ns = clock_now(),
	};
}

static void
clear(struct progress *progress)
{
	if (progress->live)
		fputs(CLEAR_LINE, progress->out);
}

void
progress_note(struct progress *progress, const char *fmt, ...)
{
	va_list args;

	if (progress->quiet)
		return;
	clear(progress);
	va_start(args, fmt);
	vfprintf(progress->out, fmt, args);
	va_end(args);
	fputc('\n', progress->out);
}

static const char *
status_colour(const struct progress *progress, enum cell_status status)
{
	if (!progress->colour)
		return "";
	return status == STATUS_OK ? "\033[32m" : "\033[31m";
}

/* [ 37/300] ok            handshake/size=64b/wan50/4 #2 1.3 s */
void
progress_turn(struct progress *progress, const char *id, int64_t repeat,
	enum cell_status status, const char *reason, int64_t took_ns)
{
	int width = snprintf(NULL, 0, "%zu", progress->total);

	progress->done++;
	if (progress->quiet || (progress->live && status == STATUS_OK))
		return;
	clear(progress);
	fprintf(progress->out, "[%*zu/%zu] %s%-12s%s %s #%" PRId64 " %" PRId64 ".%d s%s%s\n",
		width, progress->done, progress->total, status_colour(progress, status),
		status_name(status), progress->colour ? "\033[0m" : "", id, repeat,
		took_ns / NS_PER_S, (int)(took_ns % NS_PER_S / (100 * NS_PER_MS)),
		*reason ? ": " : "", reason);
}

static int
terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
		return 80;
	return size.ws_col;
}

void
progress_draw(struct progress *progress, const char *now, size_t running, int64_t left_ns)
{
	char line[512], more[32] = "", left[32] = "";
	int columns = terminal_columns();

	if (!progress->live)
		return;
	if (running > 1)
		snprintf(more, sizeof(more), " +%zu", running - 1);
	if (left_ns >= 0)
		snprintf(left, sizeof(left), " %" PRId64 ":%02d left", left_ns / NS_PER_S / 60,
			(int)(left_ns / NS_PER_S % 60));
	snprintf(line, sizeof(line), "%zu/%zu cells%s  %s%s", progress->done, progress->total,
		left, now, more);
	if ((int)strlen(line) >= columns)
		line[columns - 1] = '\0';
	fprintf(progress->out, CLEAR_LINE "%s", line);
	fflush(progress->out);
}

void
progress_end(struct progress *progress)
{
	clear(progress);
	fflush(progress->out);
}
