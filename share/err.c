#include "share/compat.h"
#include "share/err.h"

#include <errno.h>
#include <stdarg.h>

int err_set(struct err *err, const char *format, ...)
{
	va_list args;

	err->code = 0;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return -1;
}

int err_sys(struct err *err, const char *format, ...)
{
	int code = errno;
	va_list args;
	size_t used;

	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(code));
	err->code = code;
	return -1;
}

int err_prefix(struct err *err, const char *format, ...)
{
	char old[sizeof(err->text)];
	va_list args;
	size_t used;

	memcpy(old, err->text, sizeof(old));
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", old);
	return -1;
}
