/*
 * frametree.h - folded stacks to one merged tree.
 *
 * Decides which frames are one frame: same name under the same parent, or,
 * for a flame chart, also next to each other in input order. Knows nothing
 * of pixels, order among siblings, or escaping.
 *
 * Nodes are dense ids; node 0 is the root of all and has no name. A parent's
 * id is always below those of its children, so sums and walks need no
 * recursion. Weights are exact: whole parts in 64 bits, fractions beside them
 * from the first one that occurs.
 */
#ifndef RENDER_FRAMETREE_H
#define RENDER_FRAMETREE_H

#include "share/compat.h"
#include "share/err.h"
#include "share/folded.h"
#include "share/strtab.h"
#include "share/weight.h"

#define NODE_NONE UINT32_MAX

struct weights {
	uint64_t *whole;
	uint32_t *fraction; /* in 10^-9; NULL while there is none */
};

struct frametree_slot;

struct frametree {
	/* set by the caller before the first stack */
	bool reverse;            /* merge from the leaves */
	bool chart;              /* keep input order, merge only neighbours */
	const char *const *base; /* cut what is below the first of these frames */
	size_t nr_base;
	weight_fx factor; /* multiplies each count; 0 = as it is */

	struct strtab names; /* raw bytes, marks included */
	int nr_columns;      /* 0 before the first stack, then 1 or 2 */
	uint32_t nr, capacity;
	uint32_t *parent, *name;
	struct weights self[2], total[2]; /* by column; total after frametree_sum() */
	weight_fx sum[2];
	uint64_t nr_stacks, nr_outside; /* stacks added; left out for lack of a base frame */

	struct frametree_slot *slots;
	uint32_t nr_slots, nr_used;
	/* the previous stack and the nodes of its frames, for shared prefixes */
	struct buf last;
	struct slice last_stack;
	struct frame_end *path;
	size_t path_nr, path_capacity;
	uint32_t *base_ids;
};

/* A zeroed struct frametree is ready for options and stacks. */
void frametree_release(struct frametree *tree);

/*
 * Adds one stack. keeps: the bytes stay where they are until the next call.
 * Fails where a column's sum would reach 2^64.
 */
int frametree_add(struct frametree *tree, const struct folded_stack *stack, bool keeps,
                  struct err *err);

/* Adds all that the reader has. Fails too where files differ in columns. */
int frametree_read(struct frametree *tree, struct folded_reader *reader, struct err *err);

/* Computes the totals and drops what only reading needs. */
void frametree_sum(struct frametree *tree);

/* Makes the root's total larger, by weight of its own; -1 where it is larger already. */
int frametree_set_total(struct frametree *tree, weight_fx total);

/* A node that was in no input, with a weight of its own; after frametree_sum(). */
uint32_t frametree_extra(struct frametree *tree, uint32_t parent, uint32_t name,
                         const weight_fx self[2]);

/* More weight for a node without children; the parents know it already. */
void frametree_grow_node(struct frametree *tree, uint32_t node, const weight_fx self[2]);

static inline weight_fx weights_get(const struct weights *w, uint32_t node)
{
	return (weight_fx)w->whole[node] * WEIGHT_ONE + (w->fraction ? w->fraction[node] : 0);
}

static inline weight_fx frametree_self(const struct frametree *tree, uint32_t node, int column)
{
	return column < tree->nr_columns ? weights_get(&tree->self[column], node) : 0;
}

static inline weight_fx frametree_total(const struct frametree *tree, uint32_t node, int column)
{
	return column < tree->nr_columns ? weights_get(&tree->total[column], node) : 0;
}

#endif
