/*
 * regular.h - opening files that somebody else has named: a mapping of a
 * program under observation, a probe's binary.
 *
 * Opening alone may wait (a FIFO), or do what a driver does when a device is
 * opened; so what the path leads to is looked at before it is opened for
 * reading. Source: open(2) on O_PATH, proc(5) on /proc/PID/fd.
 */
#ifndef COLLECT_REGULAR_H
#define COLLECT_REGULAR_H

#include "share/compat.h"

#include <sys/stat.h>

/*
 * Opens a regular file for reading, and fills st. Returns the descriptor, or
 * -1 with errno: EINVAL where it is no regular file.
 */
int regular_open(const char *path, struct stat *st);

#endif
