/*
 * mem.h - allocation that cannot fail.
 *
 * The one place outside main that may end the program: without memory there
 * is nothing to report to. Says so on stderr and exits with EXIT_FAILED.
 * Sizes that come from input must be checked against a limit before they
 * get here.
 */
#ifndef SHARE_MEM_H
#define SHARE_MEM_H

#include "share/compat.h"

#include <stdarg.h>

NEVER_NULL void *mem_alloc(size_t size);
NEVER_NULL void *mem_zalloc(size_t size);

/*
 * Zeros written, not promised: for tables that are read at random before they
 * are written, where each page would cost two faults and, with threads, an
 * interrupt of all.
 */
void *mem_cleared(size_t size);

/* nr * size, checked for overflow; contents of grown space are undefined. */
NEVER_NULL void *mem_resize(void *old, size_t nr, size_t size);

/*
 * For tables that are read all over: with small pages each access would miss
 * the TLB as well. Advice to the kernel about memory from the functions above;
 * small tables are left alone. Arrays that grow are better without: their
 * pages are broken up where they move, and zeroed to no use.
 */
#define MEM_HUGE ((size_t)2 << 20)
void mem_advise_huge(void *at, size_t size);

/* size: a multiple of the alignment, which is a power of two. Freed by free(). */
NEVER_NULL void *mem_aligned(size_t alignment, size_t size);

NEVER_NULL char *mem_strndup(const char *text, size_t size);
NEVER_NULL char *mem_strdup(const char *text);

/* printf into fresh memory; the caller frees. */
NEVER_NULL char *mem_printf(const char *format, ...) PRINTF_LIKE(1, 2);
NEVER_NULL char *mem_vprintf(const char *format, va_list args) PRINTF_LIKE(1, 0);

/*
 * Makes room for one more element in a growing array: MEM_GROW(v, nr, cap)
 * where v is the array, nr its length, cap its capacity (both size_t).
 */
#define MEM_GROW(v, nr, cap)                                                                       \
	do {                                                                                       \
		if ((nr) >= (cap)) {                                                               \
			(cap) = (cap) ? (cap)*2 : 16;                                              \
			(v) = mem_resize((v), (cap), sizeof(*(v)));                                \
		}                                                                                  \
	} while (0)

#endif
