#include "share/compat.h"
#include "collapse/formats/stacktable.h"

#include "share/mem.h"

void stacktable_release(struct stacktable *table)
{
	free(table->rows);
	free(table->path);
	*table = (struct stacktable){0};
}

uint32_t stacktable_add(struct stacktable *table, uint32_t parent, uint32_t name)
{
	MEM_GROW(table->rows, table->nr, table->capacity);
	table->rows[table->nr] = (struct stacktable_row){parent, name, UINT32_MAX, 0};
	return (uint32_t)table->nr++;
}

uint32_t stacktable_node(struct stacktable *table, struct folder *folder, uint32_t root,
                         uint32_t row)
{
	uint32_t node = root;
	size_t nr = 0;

	/* up to what is known already, or once through all rows: then it is a circle */
	for (; row < table->nr && nr < table->nr; row = table->rows[row].parent) {
		if (table->rows[row].root == root) {
			node = table->rows[row].node;
			break;
		}
		MEM_GROW(table->path, nr, table->path_capacity);
		table->path[nr++] = row;
	}
	while (nr) {
		struct stacktable_row *entry = &table->rows[table->path[--nr]];

		if (entry->root == root) { /* seen twice: a circle */
			node = entry->node;
			continue;
		}
		if (entry->name != STACKTABLE_NONE)
			node = folder_child(folder, node, entry->name);
		entry->root = root;
		entry->node = node;
	}
	return node;
}

void stacktable_drop_root(struct stacktable *table, const struct folder *folder)
{
	uint32_t name = strtab_find(&folder->names, "(root)", 6);

	for (size_t row = 0; row < table->nr && name != UINT32_MAX; row++)
		if (table->rows[row].name == name && table->rows[row].parent == STACKTABLE_NONE)
			table->rows[row].name = STACKTABLE_NONE;
}
