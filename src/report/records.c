/* Lines of a file as records. */
#include "report/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"

#define RECORDS_MAX ((size_t)256 << 20)

enum records_result
report_records_read(const char *folder, const char *name,
	int (*take)(const struct record *record, void *context, struct err *err), void *context,
	struct err *err)
{
	char *path = alloc_printf("%s/%s", folder, name);
	enum records_result result = RECORDS_READ;
	struct buf text = {0};

	if (access(path, F_OK) < 0 && errno == ENOENT) {
		err_set(err, "%s is missing", name);
		result = RECORDS_MISSING;
		goto out;
	}
	if (file_read(path, RECORDS_MAX, &text, err) < 0) {
		result = RECORDS_UNREADABLE;
		goto out;
	}
	if (record_each(buf_text(&text), text.len, take, context, err) < 0) {
		err_prefix(err, "%s", name);
		result = RECORDS_DAMAGED;
	}
out:
	buf_free(&text);
	free(path);
	return result;
}
