/* procfile.h - small files of /proc and /sys, whole or by their first line. */
#ifndef COLLECT_PROCFILE_H
#define COLLECT_PROCFILE_H

#include "share/buf.h"
#include "share/compat.h"

/*
 * Reads the first line of a file, without its newline, into out (always
 * NUL-terminated). Returns 0, or -1 with errno.
 */
int procfile_line(char *out, size_t size, const char *format, ...) PRINTF_LIKE(3, 4);

/* A file that holds one decimal number; fallback where it cannot be read. */
long procfile_number(const char *path, long fallback);

/* Replaces buf with the whole file, NUL-terminated. Returns 0, or -1 with errno. */
int procfile_read(struct buf *buf, const char *path);

#endif
