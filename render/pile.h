/*
 * pile.h - the distinct stacks that were read, as name ids, and their counts.
 *
 * Decides which stacks are one stack: those of equal ids, wherever they come,
 * or (where their order is kept) where they come one behind the other. Memory
 * is that of the distinct ones: 4 bytes a frame and about 32 a stack.
 */
#ifndef RENDER_PILE_H
#define RENDER_PILE_H

#include "render/weights.h"
#include "share/compat.h"

#define PILE_END     UINT32_MAX /* behind the last id of a stack */
#define PILE_WAITING 32
#define COUNT_WORDS  3 /* whole part, low and high half, and fraction */

struct pile_slot;

struct pile {
	/* set by the caller before the first stack */
	int nr_columns;
	bool ordered; /* keep the order in which they come */

	/* of one stack behind the other: its ids, PILE_END, COUNT_WORDS for each column */
	uint32_t *ids;
	size_t nr_ids, ids_capacity; /* below 2^32: the caller sees to it */
	uint32_t *first;             /* in ids, by stack */
	uint32_t nr;                 /* stacks; after pile_settle() no two are the same */
	size_t capacity;

	struct pile_slot *slots;
	uint32_t nr_slots;
	uint32_t nr_settled;            /* those behind wait to be looked up */
	uint32_t waiting[PILE_WAITING]; /* their hashes */
};

void pile_release(struct pile *pile);

/*
 * Copies a stack and its nr_columns counts, whose sums over all stacks the
 * caller keeps below 2^64. With reverse, the ids are kept from the last to the
 * first.
 */
void pile_add(struct pile *pile, const uint32_t *ids, size_t nr, bool reverse,
              const weight_fx *counts);

/*
 * After the last stack: finds equal ones among those added last, and lets the
 * table go. Until then nr counts some of them twice.
 */
void pile_settle(struct pile *pile);

/* w[i] += a count, which begins at count */
static inline void pile_count_to(const uint32_t *count, struct weights *w, size_t i)
{
	weights_add(w, i, (uint64_t)count[1] << 32 | count[0], count[2]);
}

#endif
