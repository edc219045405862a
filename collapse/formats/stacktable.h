/*
 * stacktable.h - stacks as rows of (parent row, frame name), as most formats
 * that are not text store them.
 *
 * Rows may come in any order and refer to each other forwards. A chain that
 * runs in a circle, or to a row that is not there, ends at that point.
 */
#ifndef COLLAPSE_STACKTABLE_H
#define COLLAPSE_STACKTABLE_H

#include "collapse/folder.h"
#include "share/compat.h"

#define STACKTABLE_NONE UINT32_MAX

struct stacktable_row {
	uint32_t parent;     /* row, or STACKTABLE_NONE */
	uint32_t name;       /* of the folder, or STACKTABLE_NONE: no frame of its own */
	uint32_t root, node; /* node is known below this root; UINT32_MAX: not yet */
};

struct stacktable {
	struct stacktable_row *rows;
	size_t nr, capacity;
	uint32_t *path;
	size_t path_capacity;
};

/* A zeroed struct stacktable is ready to use. */
void stacktable_release(struct stacktable *table);

/* Adds a row; returns its index. */
uint32_t stacktable_add(struct stacktable *table, uint32_t parent, uint32_t name);

/* The folder's node for the stack that ends in this row, below root. */
uint32_t stacktable_node(struct stacktable *table, struct folder *folder, uint32_t root,
                         uint32_t row);

/*
 * V8 and gecko hang all stacks below one frame of their own, "(root)": takes
 * it out, where it has no parent.
 */
void stacktable_drop_root(struct stacktable *table, const struct folder *folder);

#endif
