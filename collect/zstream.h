/*
 * zstream.h - one zstd stream, through the library where it is present at run
 * time: collect is linked with libc alone.
 *
 * Source: zstd.h of libzstd 1.5 (streaming compression; the structures of its
 * buffers are part of its stable interface).
 */
#ifndef COLLECT_ZSTREAM_H
#define COLLECT_ZSTREAM_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"

struct zstream;

/* level 1 (fast) to 22. NULL with err where the library is not there. */
struct zstream *zstream_new(int level, struct err *err);
void zstream_free(struct zstream *stream);

/*
 * Appends size bytes, compressed so far that a reader can see all of them.
 * 0, or -1 where the library fails.
 */
int zstream_add(struct zstream *stream, struct buf *out, const void *bytes, size_t size);

#endif
