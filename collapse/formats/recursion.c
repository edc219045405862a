#include "share/compat.h"
#include "collapse/formats/recursion.h"

#include "share/mem.h"

static uint32_t place(struct folder *to, uint32_t parent, uint32_t name, enum recursion how)
{
	const size_t steps = how == RECURSION_DIRECT ? 1 : RECURSION_CYCLE_MAX;
	uint32_t node = parent;

	for (size_t i = 0; i < steps && node; i++) {
		if (to->nodes[node].name == name)
			return node;
		node = to->nodes[node].parent;
	}
	return folder_child(to, parent, name);
}

void recursion_fold(struct folder *folder, enum recursion how)
{
	struct folder to;
	uint32_t *nodes;

	if (how == RECURSION_KEEP)
		return;
	folder_init(&to);
	nodes = mem_zalloc(folder->nr * sizeof(*nodes));
	/* a parent is always older than its children; names keep their ids */
	for (uint32_t i = 1; i < folder->nr; i++) {
		const struct folder_node *node = &folder->nodes[i];

		nodes[i] = place(&to, nodes[node->parent], node->name, how);
		to.nodes[nodes[i]].self += node->self;
	}
	to.nodes[0].self = folder->nodes[0].self;
	to.total = folder->total;
	strtab_release(&to.names);
	to.names = folder->names;
	folder->names = (struct strtab){0};
	folder_release(folder);
	*folder = to;
	free(nodes);
}
