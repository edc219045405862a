#include "share/compat.h"
#include "collect/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

int procfile_line(char *out, size_t size, const char *format, ...)
{
	char path[4096];
	va_list args;
	ssize_t got;
	int fd, failure;

	out[0] = '\0';
	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, out, size - 1);
	failure = errno;
	close(fd);
	errno = failure;
	if (got < 0)
		return -1;
	out[got] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return 0;
}

long procfile_number(const char *path, long fallback)
{
	char text[32], *end;
	long value;

	if (procfile_line(text, sizeof(text), "%s", path) < 0)
		return fallback;
	value = strtol(text, &end, 10);
	return end == text ? fallback : value;
}

int procfile_read(struct buf *buf, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), failure;
	ssize_t got;

	buf_reset(buf);
	if (fd < 0)
		return -1;
	do {
		buf_reserve(buf, 16 * 1024);
		got = read(fd, buf->at + buf->size, buf->capacity - buf->size);
		if (got > 0)
			buf->size += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	failure = errno;
	close(fd);
	buf_text(buf);
	errno = failure;
	return got < 0 ? -1 : 0;
}
