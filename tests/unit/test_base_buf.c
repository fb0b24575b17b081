/* The growable buffer, error text and the allocation helpers. */
#include "check.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"

static void
buffer_grows(void)
{
	struct buf buf = {0};

	CHECK_TEXT(buf_text(&buf), "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&buf, "%d,", i % 10);
	CHECK_INT(buf.len, 2000);
	CHECK_INT(strlen(buf.data), 2000);
	CU_ASSERT(!strncmp(buf.data + 1990, "5,6,7,8,9,", 10));
	buf_clear(&buf);
	CHECK_TEXT(buf_text(&buf), "");
	buf_puts(&buf, "again");
	CHECK_TEXT(buf_text(&buf), "again");
	buf_free(&buf);
	CHECK_INT(buf.data == NULL && buf.len == 0 && buf.cap == 0, true);
	buf_free(&buf);
}

static void
buffer_takes_any_byte(void)
{
	struct buf buf = {0};

	buf_add(&buf, "a\0b", 3);
	buf_add(&buf, NULL, 0);
	CHECK_INT(buf.len, 3);
	CHECK_INT(buf.data[2], 'b');
	CHECK_INT(buf.data[3], '\0');
	memcpy(buf_reserve(&buf, 1000), "xyz", 4);
	buf.len += 3;
	CHECK_INT(buf.cap > 1003, true);
	CHECK_TEXT(buf.data + 2, "bxyz");
	buf_free(&buf);
}

static void
errors_have_text(void)
{
	struct err err = {0};

	CHECK_INT(err_set(&err, "no %s", "bread"), -1);
	CHECK_TEXT(err.text, "no bread");
	CHECK_INT(err_prefix(&err, "line %d", 3), -1);
	CHECK_TEXT(err.text, "line 3: no bread");
	errno = ENOENT;
	CHECK_INT(err_sys(&err, "open %s", "x"), -1);
	CHECK_TEXT(err.text, "open x: No such file or directory");
	CHECK_INT(errno, ENOENT);
	CHECK_INT(err_set(NULL, "x"), -1);
	CHECK_INT(err_sys(NULL, "x"), -1);
	CHECK_INT(err_prefix(NULL, "x"), -1);
}

static void
errors_fit(void)
{
	struct err err;
	char longer[2 * ERR_TEXT_SIZE];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_set(&err, "%s", longer);
	CHECK_INT(strlen(err.text), ERR_TEXT_SIZE - 1);
	err_prefix(&err, "p");
	CHECK_INT(strlen(err.text), ERR_TEXT_SIZE - 1);
	CU_ASSERT(!strncmp(err.text, "p: xxx", 6));
	errno = EIO;
	err_sys(&err, "%s", longer); /* what went wrong is kept, on what is shortened */
	CHECK_TEXT(err.text + strlen(err.text) - 23, "...: Input/output error");
}

static void
arrays_grow(void)
{
	int64_t *items = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < 1000; i++) {
		items = alloc_grow(items, i, &cap, sizeof(*items));
		CU_ASSERT(cap > i);
		items[i] = (int64_t)i;
	}
	for (size_t i = 0; i < 1000; i++)
		CU_ASSERT(items[i] == (int64_t)i);
	free(items);
	items = alloc_zero(3, sizeof(*items));
	CHECK_INT(items[0] | items[1] | items[2], 0);
	free(items);
	free(alloc_zero(0, 0));
}

static void
texts_are_copied(void)
{
	char *a = alloc_text("abc"), *b = alloc_text_n("abcdef", 2);
	char *c = alloc_printf("%s-%d", "n", 7);

	CHECK_TEXT(a, "abc");
	CHECK_TEXT(b, "ab");
	CHECK_TEXT(c, "n-7");
	free(a);
	free(b);
	free(c);
}

int
main(void)
{
	CU_TestInfo tests[] = {
		{"buffer grows", buffer_grows},
		{"buffer takes any byte", buffer_takes_any_byte},
		{"errors have text", errors_have_text},
		{"errors fit", errors_fit},
		{"arrays grow", arrays_grow},
		{"texts are copied", texts_are_copied},
		CU_TEST_INFO_NULL,
	};

	return check_main("base buf", tests);
}
