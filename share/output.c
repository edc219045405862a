#include "share/compat.h"
#include "share/output.h"

#include "share/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* A device or a pipe has no "half a file" to protect against. */
static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

int output_open(struct output *out, const char *path, struct err *err)
{
	*out = (struct output){.fd = STDOUT_FILENO};
	if (!path || strcmp(path, "-") == 0)
		return 0;
	out->path = mem_strdup(path);
	if (is_special(path)) {
		out->fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		out->temporary = mem_printf("%s.XXXXXX", path);
		out->fd = mkostemp(out->temporary, O_CLOEXEC);
		if (out->fd >= 0)
			guard_unfinished(out->temporary);
	}
	if (out->fd >= 0)
		return 0;
	err_sys(err, "cannot create '%s'", path);
	free(out->temporary);
	out->temporary = NULL;
	output_discard(out);
	return -1;
}

void output_flush(struct output *out)
{
	const char *at = out->buf.at;
	size_t left = out->buf.size;

	while (left && !out->failure) {
		ssize_t done = write(out->fd, at, left);

		if (done < 0) {
			if (errno != EINTR)
				out->failure = errno;
			continue;
		}
		at += done;
		left -= (size_t)done;
	}
	buf_reset(&out->buf);
}

void output_printf(struct output *out, const char *format, ...)
{
	char small[512];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(small, sizeof(small), format, args);
	va_end(args);
	if (size < 0)
		return;
	if ((size_t)size < sizeof(small)) {
		output_add(out, small, (size_t)size);
		return;
	}
	buf_reserve(&out->buf, (size_t)size + 1);
	va_start(args, format);
	vsnprintf(out->buf.at + out->buf.size, (size_t)size + 1, format, args);
	va_end(args);
	out->buf.size += (size_t)size;
}

static int finish_file(struct output *out, struct err *err)
{
	mode_t mask = umask(0);

	umask(mask);
	if (fchmod(out->fd, 0666 & ~mask) < 0 || close(out->fd) < 0) {
		out->fd = -1;
		return err_sys(err, "cannot finish '%s'", out->path);
	}
	out->fd = -1;
	if (rename(out->temporary, out->path) < 0)
		return err_sys(err, "cannot rename '%s' to '%s'", out->temporary, out->path);
	guard_unfinished(NULL);
	free(out->temporary);
	out->temporary = NULL;
	return 0;
}

int output_close(struct output *out, struct err *err)
{
	int result = 0;

	output_flush(out);
	if (out->failure) {
		errno = out->failure;
		result = err_sys(err, "cannot write to '%s'", out->path ? out->path : "stdout");
	} else if (out->temporary) {
		result = finish_file(out, err);
	} else {
		int fd = out->fd;

		/* closing reports what the kernel could not deliver (NFS, full quota) */
		out->fd = -1;
		if (close(fd) < 0)
			result = err_sys(err, "cannot write to '%s'",
			                 out->path ? out->path : "stdout");
	}
	output_discard(out);
	return result;
}

void output_discard(struct output *out)
{
	if (out->path && out->fd >= 0)
		close(out->fd);
	if (out->temporary) {
		unlink(out->temporary);
		guard_unfinished(NULL);
	}
	free(out->temporary);
	free(out->path);
	buf_release(&out->buf);
	*out = (struct output){.fd = -1};
}
