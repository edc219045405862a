/*
 * compat.h - the first include of every source file.
 *
 * Decides: feature macros, the fixed-width names used throughout, attribute
 * spellings, and which libc functions are banned because they write without
 * a bound or keep hidden state.
 */
#ifndef SHARE_COMPAT_H
#define SHARE_COMPAT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define ARRAY_SIZE(a)          (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NEVER_NULL             __attribute__((returns_nonnull))
#define UNUSED                 __attribute__((unused))
#define NORETURN               __attribute__((noreturn))
#define LIKELY(x)              __builtin_expect(!!(x), 1)
#define UNLIKELY(x)            __builtin_expect(!!(x), 0)

#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

/* Text whose end is given by a size, not by a NUL; borrowed from its owner. */
struct slice {
	const char *at;
	size_t size;
};

static inline bool slice_equals(struct slice s, const char *text)
{
	size_t size = strlen(text);

	/* an empty slice may have no bytes to point at */
	return s.size == size && (!size || memcmp(s.at, text, size) == 0);
}

static inline bool slice_starts(struct slice s, const char *prefix)
{
	size_t size = strlen(prefix);

	return s.size >= size && (!size || memcmp(s.at, prefix, size) == 0);
}

#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets strncpy strncat
#pragma GCC poison atoi atol atoll atof

#endif
