/*
 * frametree.h - folded stacks to one merged tree.
 *
 * Decides which frames are one frame: same name under the same parent, or,
 * for a flame chart, also next to each other in input order; and the order of
 * siblings: by the bytes of their names, or as they came for a flame chart.
 * Knows nothing of pixels or escaping.
 *
 * Stacks are only gathered while they are read. frametree_build() then parts
 * them by their names, frame by frame, and so makes the nodes in preorder: a
 * parent's id is below those of its children, and sums and walks need no
 * recursion. Node 0 is the root of all and has no name. At first a node is a
 * run of frames, all those that come one behind the other without a stack
 * that ends or leaves; frametree_settle() drops the nodes that are too light
 * and makes one node of each frame that remains. Most frames of large
 * profiles are never looked at alone.
 */
#ifndef RENDER_FRAMETREE_H
#define RENDER_FRAMETREE_H

#include "render/pile.h"
#include "render/weights.h"
#include "share/compat.h"
#include "share/err.h"
#include "share/folded.h"
#include "share/framer.h"
#include "share/strtab.h"

#define NODE_NONE UINT32_MAX

struct frametree_run {
	uint32_t parent;
	uint32_t first, nr; /* of its names in pile.ids */
};

struct frametree_node {
	uint32_t parent, name;
};

struct frametree {
	/* set by the caller before the first stack */
	bool reverse;            /* merge from the leaves */
	bool chart;              /* keep input order, merge only neighbours */
	const char *const *base; /* cut what is below the first of these frames */
	size_t nr_base;
	bool keep_others; /* stacks without one of them stay as they are */
	weight_fx factor; /* multiplies each count; 0 = as it is */

	struct strtab names; /* raw bytes, marks included */
	int nr_columns;      /* 0 before the first stack, then 1 or 2 */
	weight_fx sum[2];
	uint64_t nr_stacks, nr_outside; /* stacks added; left out for lack of a base frame */
	struct framer framer;
	struct pile pile;
	uint32_t *base_ids;

	uint32_t nr;                  /* nodes */
	struct frametree_run *runs;   /* from frametree_build() to frametree_settle() */
	struct frametree_node *nodes; /* from then on */
	struct weights total[2];      /* by column, of either */
	struct weights self[2];       /* of nodes */
	uint32_t *rank;               /* places of names in their order, until frametree_settle() */
};

/* A zeroed struct frametree is ready for options and stacks. */
void frametree_release(struct frametree *tree);

/*
 * Adds one stack. Fails where a column's sum would reach 2^64, or the frames
 * of distinct stacks 2^32.
 */
int frametree_add(struct frametree *tree, const struct folded_stack *stack, struct err *err);

/* With 1 or 2 columns, before the first frametree_add(); frametree_read() does it itself. */
void frametree_begin(struct frametree *tree, int nr_columns);

/* Adds all that the reader has. Fails too where files differ in columns. */
int frametree_read(struct frametree *tree, struct folded_reader *reader, struct err *err);

/* After the last stack: makes runs of frames and their totals. */
void frametree_build(struct frametree *tree);

/* Makes the root's total larger, by weight of its own; -1 where it is larger already. */
int frametree_set_total(struct frametree *tree, weight_fx total);

/* The names of a run other than the root, *nr of them. Between build and settle. */
static inline const uint32_t *frametree_names(const struct frametree *tree, uint32_t run,
                                              uint32_t *nr)
{
	*nr = tree->runs[run].nr;
	return tree->pile.ids + tree->runs[run].first;
}

/* For a walk over all runs: their names are anywhere in memory. */
static inline void frametree_prefetch(const struct frametree *tree, uint32_t run)
{
	__builtin_prefetch(&tree->pile.ids[tree->runs[run].first]);
}

/*
 * Makes nodes of the runs, but of those whose heavier column is below
 * `threshold`, at least 1: what a node loses becomes one child of it, named
 * THIN_NAME. False where nothing of any weight was lost. Ids change.
 */
#define THIN_NAME "[thin frames]"
bool frametree_settle(struct frametree *tree, weight_fx threshold);

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

#endif
