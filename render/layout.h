/*
 * layout.h - which nodes of a tree are kept, and where.
 *
 * Decides what is too light to keep: the pruned children of a node become one
 * extra child, named THIN_NAME, so that every sum stays exact. Positions are
 * exact weights; only writers turn them into pixels.
 *
 * Nodes of weight 0 in every column are left out.
 */
#ifndef RENDER_LAYOUT_H
#define RENDER_LAYOUT_H

#include "render/frametree.h"

struct layout_frame {
	uint32_t node, depth; /* depth 0: the root of all */
};

struct layout {
	struct frametree *tree;      /* borrowed */
	struct layout_frame *frames; /* preorder */
	uint32_t nr;
	bool is_pruned;      /* some nodes went into thin frames */
	weight_fx threshold; /* the least weight that was kept, or 0 */
	uint32_t max_depth;
};

/*
 * Keeps nodes whose heavier column is at least `threshold`, but raises it
 * until about max_size bytes of SVG data remain (0: no bound). Prunes the
 * tree itself, so call once.
 */
void layout_init(struct layout *layout, struct frametree *tree, weight_fx threshold,
                 size_t max_size);
void layout_release(struct layout *layout);

/*
 * The frames of one picture, from left to right and root to leaf. Width is
 * the total of `column`. With gone = true it is instead the weight of column
 * 0 under frames that have none in column 1, and only those and their
 * ancestors appear.
 */
struct layout_box {
	uint32_t node, depth;
	weight_fx start, width; /* in weight; root: start 0 */
	bool gone;              /* the frame itself is missing from column 1 */
};

struct layout_walk {
	const struct layout *layout;
	int column;
	weight_fx *gone; /* by node, or NULL */
	uint32_t at;
	weight_fx *cursor; /* by depth: where the next frame starts */
};

void layout_walk_init(struct layout_walk *walk, const struct layout *layout, int column, bool gone);
void layout_walk_release(struct layout_walk *walk);

/* The next frame of at least min_width, an absolute weight; false at the end. */
bool layout_next(struct layout_walk *walk, weight_fx min_width, struct layout_box *box);

#endif
