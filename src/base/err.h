/* What went wrong, as one line of text: what was done, on what, and why. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define ERR_TEXT_SIZE 512

/* Owned by the caller, filled by the function that failed. Zero means no error. */
struct err {
	char text[ERR_TEXT_SIZE];
};

/* Replace the text of `err` (which may be NULL). Always returns -1, so that
 * `return err_set(err, ...)` is the whole of an error path. */
int err_set(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As err_set(), with ": " and the text of errno behind it. */
int err_sys(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "fmt: " in front of the text already there. Always returns -1. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
