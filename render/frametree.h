/*
 * frametree.h - folded stacks to one merged tree.
 *
 * Decides which frames are one frame: same name under the same parent, or,
 * for a flame chart, also next to each other in input order. Knows nothing
 * of pixels, order among siblings, or escaping.
 *
 * Nodes are dense ids; node 0 is the root of all and has no name. A parent's
 * id is always below those of its children, so sums and walks need no
 * recursion. Where only one stack goes on from a node, the frames that follow
 * are kept as one node, a chain, until another stack leaves it or
 * frametree_expand() makes nodes of them; most frames of large profiles are
 * too light to be kept and never become more than that. Weights are exact: whole parts in 64 bits,
 * fractions beside them from the first one that occurs.
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

struct frametree_node {
	uint32_t parent, name; /* chain: where its names begin */
};

struct frametree_slot;

/* Stacks as name ids, waiting to be added together: see frametree_add(). */
struct frametree_batch {
	uint32_t *ids;
	size_t nr_ids, ids_capacity;
	unsigned nr; /* stacks */
	struct frametree_waiting *stacks;
};

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
	struct frametree_node *nodes;
	struct weights self[2], total[2]; /* by column; total after frametree_sum() */
	/* until frametree_expand(): by node, a chain below it, or what else there is */
	uint32_t *below;
	uint32_t *chains; /* name ids, each chain ended by UINT32_MAX */
	size_t chains_nr, chains_capacity;
	weight_fx sum[2];
	uint64_t nr_stacks, nr_outside; /* stacks added; left out for lack of a base frame */

	struct frametree_slot *slots;
	uint32_t nr_slots, nr_used; /* slots */
	struct frametree_batch batch;
	uint32_t *path; /* flame chart: the nodes of the previous stack */
	size_t path_nr, path_capacity;
	uint32_t *base_ids;
};

/* A zeroed struct frametree is ready for options and stacks. */
void frametree_release(struct frametree *tree);

/*
 * Adds one stack, now or by frametree_sum() at the latest. Fails where a
 * column's sum would reach 2^64.
 */
int frametree_add(struct frametree *tree, const struct folded_stack *stack, struct err *err);

/* With 1 or 2 columns, before the first frametree_add(); frametree_read() does it itself. */
void frametree_begin(struct frametree *tree, int nr_columns);

/* Adds all that the reader has. Fails too where files differ in columns. */
int frametree_read(struct frametree *tree, struct folded_reader *reader, struct err *err);

/* Computes the totals and drops what only reading needs. Chains remain. */
void frametree_sum(struct frametree *tree);

/* Makes nodes of all frames of chains. Ids change. For after the sum. */
void frametree_expand(struct frametree *tree);

/*
 * The names of a node, where it is a chain of several, else of its only frame;
 * *nr says how many. For before frametree_expand(); node 0 has none.
 */
const uint32_t *frametree_names(const struct frametree *tree, uint32_t node, uint32_t *nr);

/* Makes the root's total larger, by weight of its own; -1 where it is larger already. */
int frametree_set_total(struct frametree *tree, weight_fx total);

/*
 * Drops the nodes whose heavier column is below `threshold`; what a node loses
 * becomes one child of it, named THIN_NAME. Ids change. Returns how many
 * nodes went. For between the sum and frametree_expand().
 */
#define THIN_NAME "[thin frames]"
uint32_t frametree_prune(struct frametree *tree, weight_fx threshold);

static inline weight_fx weights_get(const struct weights *w, uint32_t node)
{
	return (weight_fx)w->whole[node] * WEIGHT_ONE + (w->fraction ? w->fraction[node] : 0);
}

static inline weight_fx frametree_self(const struct frametree *tree, uint32_t node, int column)
{
	return column < tree->nr_columns ? weights_get(&tree->self[column], node) : 0;
}

static inline uint32_t frametree_name(const struct frametree *tree, uint32_t node)
{
	return tree->nodes[node].name;
}

static inline weight_fx frametree_total(const struct frametree *tree, uint32_t node, int column)
{
	return column < tree->nr_columns ? weights_get(&tree->total[column], node) : 0;
}

/* Every column's total is below the threshold; 64-bit comparisons, for whole trees. */
static inline bool frametree_below(const struct frametree *tree, uint32_t node, weight_fx threshold)
{
	uint64_t whole = (uint64_t)(threshold / WEIGHT_ONE);
	uint32_t fraction = (uint32_t)(threshold % WEIGHT_ONE);

	for (int c = 0; c < tree->nr_columns; c++) {
		const struct weights *w = &tree->total[c];

		if (w->whole[node] > whole ||
		    (w->whole[node] == whole && (w->fraction ? w->fraction[node] : 0) >= fraction))
			return false;
	}
	return true;
}

/* No weight in any column. */
static inline bool frametree_empty(const struct frametree *tree, uint32_t node)
{
	return frametree_below(tree, node, 1);
}

#endif
