/*
 * calltree.h - call trees that an input prints top down, a node a line, each
 * with its depth and a weight.
 *
 * Weights are either those of the node alone, counted at once, or include the
 * nodes below, and then what the children leave over is counted when the node
 * is complete.
 */
#ifndef COLLAPSE_CALLTREE_H
#define COLLAPSE_CALLTREE_H

#include "collapse/formats/format.h"
#include "share/compat.h"

#define CALLTREE_MAX_DEPTH 65536

struct calltree_level {
	uint32_t name;
	uint32_t node;  /* where it is not inverted */
	weight_fx rest; /* inclusive weight less that of the children so far */
};

struct calltree {
	struct folder *folder;
	struct format_report *report;
	struct err *err;
	bool is_inclusive;
	bool is_inverted; /* depth 0 is the innermost frame: children are callers */

	struct calltree_level *levels; /* from depth 0 to the last node */
	size_t nr, capacity;
};

void calltree_release(struct calltree *tree);

/*
 * The next node. A depth beyond the last node's plus one is taken for that
 * (false is returned in *is_skipped's place: the caller counts the damage).
 * -1 where the sum is too large.
 */
int calltree_add(struct calltree *tree, size_t depth, struct slice name, weight_fx weight,
                 bool *is_skipped);

/* Counts what is still owed to the nodes on the way to the last one. */
int calltree_finish(struct calltree *tree);

#endif
