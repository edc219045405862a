/*
 * buf.h - a byte buffer that grows.
 *
 * Invariant: size <= capacity; at is NULL only while capacity is 0. The
 * bytes are not NUL-terminated unless buf_text() was called last.
 */
#ifndef SHARE_BUF_H
#define SHARE_BUF_H

#include "share/compat.h"
#include "share/mem.h"

struct buf {
	char *at;
	size_t size, capacity;
};

void buf_release(struct buf *buf);

/* Room for `more` bytes after size; at may move. */
void buf_reserve(struct buf *buf, size_t more);

static inline void buf_reset(struct buf *buf)
{
	buf->size = 0;
}

static inline void buf_add(struct buf *buf, const void *bytes, size_t size)
{
	if (buf->capacity - buf->size < size)
		buf_reserve(buf, size);
	if (size)
		memcpy(buf->at + buf->size, bytes, size);
	buf->size += size;
}

static inline void buf_char(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_string(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);

/* NUL-terminates and returns the text, which lives until the next change. */
NEVER_NULL char *buf_text(struct buf *buf);

#endif
