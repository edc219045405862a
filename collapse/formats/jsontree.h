/*
 * jsontree.h - trees that JSON nests: objects with an array "children" of
 * objects of the same kind. Walked without recursion, whatever their depth.
 *
 *	jsontree_begin(&tree, &json);
 *	while (jsontree_key(&tree, &json, &row, &key))
 *		take or skip the value of the key, for the object `row`
 */
#ifndef COLLAPSE_JSONTREE_H
#define COLLAPSE_JSONTREE_H

#include "collapse/formats/jsontok.h"
#include "collapse/formats/stacktable.h"

struct jsontree {
	struct stacktable table; /* a row for each object; names are the caller's to set */
	weight_fx *self;         /* by row; the caller's to set */
	size_t nr, capacity;
	uint32_t *open; /* rows of the objects around the place read now */
	size_t nr_open, open_capacity;
};

/* A zeroed struct jsontree is ready to use. */
void jsontree_release(struct jsontree *tree);

/* Takes the value that follows as the tree's root; anything but an object is skipped. */
void jsontree_begin(struct jsontree *tree, struct json *json);

/* True with the next key of any object of the tree; false behind the root's end. */
bool jsontree_key(struct jsontree *tree, struct json *json, uint32_t *row, struct slice *key);

#endif
