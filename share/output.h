/*
 * output.h - a file or stdout, buffered, whose failures are never lost.
 *
 * Writes collect in memory and a failure is remembered until output_close(),
 * so callers check once. Names other than "-" are written to a temporary
 * file beside the target (mode 0600 until finished, then as umask says) and
 * renamed by output_close(): nobody meets half a file.
 */
#ifndef SHARE_OUTPUT_H
#define SHARE_OUTPUT_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"

struct output {
	struct buf buf;
	int fd;
	int failure;     /* errno of the first failed write, or 0 */
	char *path;      /* final name, or NULL for stdout */
	char *temporary; /* name while unfinished */
};

/* path: NULL or "-" for stdout. Returns 0 or -1. */
int output_open(struct output *out, const char *path, struct err *err);

/* Hands the buffer to the kernel; failures are kept for output_close(). */
void output_flush(struct output *out);

static inline void output_add(struct output *out, const void *bytes, size_t size)
{
	buf_add(&out->buf, bytes, size);
	if (UNLIKELY(out->buf.size >= 256 * 1024))
		output_flush(out);
}

static inline void output_string(struct output *out, const char *text)
{
	output_add(out, text, strlen(text));
}

void output_printf(struct output *out, const char *format, ...) PRINTF_LIKE(2, 3);

/* Flushes, closes, renames. -1 if any byte did not reach its place. */
int output_close(struct output *out, struct err *err);

/* Gives up: removes the temporary file. Safe after a failed open. */
void output_discard(struct output *out);

#endif
