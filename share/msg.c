#include "share/compat.h"
#include "share/msg.h"

#include <stdarg.h>

static char program[32] = "flame";
static bool is_quiet;

void msg_init(const char *tool)
{
	snprintf(program, sizeof(program), "flame-%s", tool);
}

void msg_quiet(bool quiet)
{
	is_quiet = quiet;
}

const char *msg_program(void)
{
	return program;
}

/* One write per line: lines of the four tools of a pipeline share a terminal. */
static void PRINTF_LIKE(1, 0) print(const char *format, va_list args)
{
	char line[2048];
	int used = snprintf(line, sizeof(line), "%s: ", program);
	int body = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, args);

	if (body < 0)
		return;
	used += body;
	if (used > (int)sizeof(line) - 2)
		used = (int)sizeof(line) - 2;
	line[used++] = '\n';
	fwrite(line, 1, (size_t)used, stderr);
	fflush(stderr);
}

/* ECMA-48: CR goes to the start of the line, CSI K clears what is behind. */
void msg_progress(const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "\r%s: %s\033[K", program, line);
	fflush(stderr);
}

void msg_progress_end(void)
{
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

void msg_note(const char *format, ...)
{
	va_list args;

	if (is_quiet)
		return;
	va_start(args, format);
	print(format, args);
	va_end(args);
}

void msg_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
}

void msg_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
}

int msg_fail(const struct err *err)
{
	msg_error("%s", err->text);
	return EXIT_FAILED;
}
