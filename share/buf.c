#include "share/compat.h"
#include "share/buf.h"

#include <stdarg.h>

void buf_release(struct buf *buf)
{
	free(buf->at);
	*buf = (struct buf){0};
}

void buf_reserve(struct buf *buf, size_t more)
{
	size_t want = buf->capacity ? buf->capacity : 256;

	if (buf->capacity - buf->size >= more)
		return;
	while (want - buf->size < more)
		want *= 2;
	buf->at = mem_resize(buf->at, want, 1);
	buf->capacity = want;
}

void buf_string(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (size < 0)
		return;
	buf_reserve(buf, (size_t)size + 1);
	va_start(args, format);
	vsnprintf(buf->at + buf->size, (size_t)size + 1, format, args);
	va_end(args);
	buf->size += (size_t)size;
}

char *buf_text(struct buf *buf)
{
	buf_reserve(buf, 1);
	buf->at[buf->size] = '\0';
	return buf->at;
}
