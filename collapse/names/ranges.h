/*
 * ranges.h - which of many overlapping address ranges counts at an address.
 *
 * Ranges are added in any order, each with a value and a priority, and are
 * turned once into a flat sorted table: at each address the range of highest
 * priority wins; what it leaves uncovered falls to the one below. Symbols
 * (the innermost wins), entries of a JIT's map (the latest wins) and inlined
 * functions (the deepest wins) differ in their priorities only.
 *
 * Cost: n log n to make; a lookup is a binary search in 8-byte keys, within
 * one of as many equal blocks of addresses as there are keys.
 */
#ifndef COLLAPSE_RANGES_H
#define COLLAPSE_RANGES_H

#include "share/compat.h"

#define RANGES_NONE UINT32_MAX

struct range {
	uint64_t start, end; /* end is the first address behind; empty ones are dropped */
	uint32_t value;      /* any but RANGES_NONE */
	uint32_t priority;   /* equal ones: the later start, then the later added, wins */
};

/* A zeroed one is ready. */
struct ranges {
	struct range *at; /* as added; NULL after ranges_finish() */
	size_t nr, capacity;

	uint64_t *starts; /* flat: values[i] counts from starts[i] up to starts[i + 1] */
	uint32_t *values;
	size_t nr_flat, flat_capacity;

	/* where to look: blocks[n] is the first of starts in the n-th block of addresses */
	uint32_t *blocks;
	size_t nr_blocks;
	unsigned block_bits;
};

void ranges_release(struct ranges *ranges);
void ranges_add(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t value,
                uint32_t priority);

/* Sorts by start; equal starts stay as added. ranges_finish() does it too. */
void ranges_sort(struct ranges *ranges);

/*
 * For makers that know the flat table already: value (which may be RANGES_NONE)
 * counts from start on. Starts must rise; an equal one takes the place of the last.
 */
void ranges_append(struct ranges *ranges, uint64_t start, uint32_t value);

/* Makes the flat table, of what was added or appended. */
void ranges_finish(struct ranges *ranges);

/* The value that counts at the address, or RANGES_NONE. */
uint32_t ranges_find(const struct ranges *ranges, uint64_t address);

/* The same, and narrows [*start, *end) to the part around the address where it counts. */
uint32_t ranges_narrow(const struct ranges *ranges, uint64_t address, uint64_t *start,
                       uint64_t *end);

#endif
