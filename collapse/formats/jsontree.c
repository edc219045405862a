#include "share/compat.h"
#include "collapse/formats/jsontree.h"

#include "share/mem.h"

void jsontree_release(struct jsontree *tree)
{
	stacktable_release(&tree->table);
	free(tree->self);
	free(tree->open);
	*tree = (struct jsontree){0};
}

static void open_row(struct jsontree *tree)
{
	uint32_t parent = tree->nr_open ? tree->open[tree->nr_open - 1] : STACKTABLE_NONE;

	MEM_GROW(tree->self, tree->nr, tree->capacity);
	MEM_GROW(tree->open, tree->nr_open, tree->open_capacity);
	tree->self[tree->nr++] = 0;
	tree->open[tree->nr_open++] = stacktable_add(&tree->table, parent, STACKTABLE_NONE);
}

void jsontree_begin(struct jsontree *tree, struct json *json)
{
	if (json_object(json))
		open_row(tree);
}

/* In an array of children: steps into the next, if there is one. */
static void next_child(struct jsontree *tree, struct json *json)
{
	while (json_item(json)) {
		if (json_object(json)) {
			open_row(tree);
			return;
		}
	}
}

bool jsontree_key(struct jsontree *tree, struct json *json, uint32_t *row, struct slice *key)
{
	while (tree->nr_open) {
		if (json_key(json, key)) {
			if (!slice_equals(*key, "children") || json_peek(json) != '[') {
				*row = tree->open[tree->nr_open - 1];
				return true;
			}
			json_array(json);
			next_child(tree, json);
		} else if (json->bad) {
			tree->nr_open = 0;
		} else if (--tree->nr_open) {
			next_child(tree, json);
		}
	}
	return false;
}
