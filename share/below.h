/*
 * below.h - opening a file by a path that is not to be trusted, below a folder.
 *
 * Paths from recordings, and links in the folder, are taken as if the folder
 * were the root of all files: neither ".." nor an absolute link leads out.
 *
 * Source: openat2(2), RESOLVE_IN_ROOT (Linux 5.6). Where there is none, the
 * path is walked one component at a time, which is slower and finds the same.
 */
#ifndef SHARE_BELOW_H
#define SHARE_BELOW_H

#include "share/compat.h"

/* flags: of open(2); O_CLOEXEC is added. A descriptor, or -1 with errno set. */
int below_open(const char *root, const char *path, int flags);

#endif
