/*
 * wrong.h - places where a stack was wrong, counted, and the verdict.
 */
#ifndef TESTS_UNWIND_WRONG_H
#define TESTS_UNWIND_WRONG_H

#include "share/compat.h"

struct wrong {
	uint64_t off;
	const char *path, *why;
	size_t nr;
};

static struct wrong wrongs[1000];
static size_t nr_wrongs, nr_wrong_stacks;

/* Both texts are borrowed for good. */
static inline void wrong_note(const char *path, uint64_t off, const char *why)
{
	nr_wrong_stacks++;
	for (size_t i = 0; i < nr_wrongs; i++) {
		if (wrongs[i].off == off && strcmp(wrongs[i].path, path) == 0) {
			wrongs[i].nr++;
			return;
		}
	}
	if (nr_wrongs < ARRAY_SIZE(wrongs))
		wrongs[nr_wrongs++] = (struct wrong){off, path, why, 1};
}

/* Prints; 0 where at most one stack in a thousand, of a thousand at least, is wrong. */
static inline int wrong_report(size_t nr_stacks)
{
	for (size_t i = 0; i < nr_wrongs; i++)
		printf("  %6zu times at %s+0x%jx: %s\n", wrongs[i].nr, wrongs[i].path,
		       (uintmax_t)wrongs[i].off, wrongs[i].why);
	printf("%zu of %zu stacks wrong\n", nr_wrong_stacks, nr_stacks);
	return nr_stacks < 1000 || nr_wrong_stacks * 1000 > nr_stacks;
}

#endif
