#include "share/compat.h"
#include "collapse/formats/calltree.h"

#include "share/mem.h"

void calltree_release(struct calltree *tree)
{
	free(tree->levels);
	tree->levels = NULL;
	tree->nr = tree->capacity = 0;
}

static int count(struct calltree *tree, weight_fx weight)
{
	uint32_t node = 0;

	if (!tree->is_inverted)
		node = tree->levels[tree->nr - 1].node;
	for (size_t i = tree->is_inverted ? tree->nr : 0; i-- > 0;)
		node = folder_child(tree->folder, node, tree->levels[i].name);
	return format_count(tree->folder, node, weight, tree->report, tree->err) ? 0 : -1;
}

/* Completes the nodes at `depth` and below. */
static int cut(struct calltree *tree, size_t depth)
{
	for (; tree->nr > depth; tree->nr--) {
		weight_fx rest = tree->levels[tree->nr - 1].rest;

		if (tree->is_inclusive && rest && count(tree, rest) < 0)
			return -1;
	}
	return 0;
}

int calltree_add(struct calltree *tree, size_t depth, struct slice name, weight_fx weight,
                 bool *is_skipped)
{
	uint32_t id = folder_name(tree->folder, name.at, name.size), node = 0;

	*is_skipped = depth > tree->nr || depth >= CALLTREE_MAX_DEPTH;
	depth = MIN_OF(MIN_OF(depth, tree->nr), CALLTREE_MAX_DEPTH - 1);
	if (cut(tree, depth) < 0)
		return -1;
	if (!tree->is_inverted)
		node = folder_child(tree->folder, depth ? tree->levels[depth - 1].node : 0, id);
	if (tree->is_inclusive && depth) {
		struct calltree_level *parent = &tree->levels[depth - 1];

		parent->rest -= MIN_OF(parent->rest, weight);
	}
	MEM_GROW(tree->levels, tree->nr, tree->capacity);
	tree->levels[tree->nr++] = (struct calltree_level){id, node, weight};
	return tree->is_inclusive || !weight ? 0 : count(tree, weight);
}

int calltree_finish(struct calltree *tree)
{
	return cut(tree, 0);
}
