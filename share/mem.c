#include "share/compat.h"
#include "share/mem.h"

#include "share/err.h"
#include "share/msg.h"

#include <sys/mman.h>

static NORETURN void out_of_memory(size_t size)
{
	msg_error("out of memory (asked for %zu bytes)", size);
	/* _exit: atexit handlers may want memory too */
	_Exit(EXIT_FAILED);
}

void *mem_alloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *mem_zalloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *mem_cleared(size_t size)
{
	void *p = mem_alloc(size);

	memset(p, 0, size);
	return p;
}

void *mem_resize(void *old, size_t nr, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(nr, size, &bytes))
		out_of_memory(SIZE_MAX);
	p = realloc(old, bytes ? bytes : 1);
	if (!p)
		out_of_memory(bytes);
	return p;
}

void mem_advise_huge(void *at, size_t size)
{
	uintptr_t page = 4096, from = ((uintptr_t)at + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)at + size) & ~(page - 1);

	if (size >= MEM_HUGE)
		madvise((void *)from, end - from, MADV_HUGEPAGE);
}

void *mem_aligned(size_t alignment, size_t size)
{
	void *p = aligned_alloc(alignment, size);

	if (!p)
		out_of_memory(size);
	return p;
}

char *mem_strndup(const char *text, size_t size)
{
	char *copy = mem_alloc(size + 1);

	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

char *mem_strdup(const char *text)
{
	return mem_strndup(text, strlen(text));
}

char *mem_vprintf(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		out_of_memory(0);
	return text;
}

char *mem_printf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = mem_vprintf(format, args);
	va_end(args);
	return text;
}
