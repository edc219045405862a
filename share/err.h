/*
 * err.h - the record of one failure.
 *
 * Modules never print and never exit: they fill a struct err and return -1;
 * main alone decides what to say and which status to leave with. The first
 * failure wins; a caller that adds context does so with err_prefix().
 */
#ifndef SHARE_ERR_H
#define SHARE_ERR_H

#include "share/compat.h"

/* Exit statuses shared by the four tools. */
enum exit_status {
	EXIT_COMPLETE = 0,
	EXIT_INCOMPLETE = 1, /* output was written, but something is missing from it */
	EXIT_FAILED = 2,
	EXIT_LIMIT = 3, /* diff --check only: a limit was broken */
	EXIT_MISUSE = 64,
};

struct err {
	int code; /* errno at the failure, or 0 */
	char text[1024];
};

/* Both return -1, so that `return err_set(...)` reads as what it is. */
int err_set(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Appends ": " and the text of the current errno. */
int err_sys(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Puts "context: " before the text already there. Returns -1. */
int err_prefix(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
