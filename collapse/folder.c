#include "share/compat.h"
#include "collapse/folder.h"

#include "share/folded.h"
#include "share/mem.h"

void folder_init(struct folder *folder)
{
	*folder = (struct folder){0};
	folder->nr_slots = 1024;
	folder->slots = mem_cleared(folder->nr_slots * sizeof(*folder->slots));
	folder->capacity = 512;
	folder->nodes = mem_zalloc(folder->capacity * sizeof(*folder->nodes));
	folder->nr = folder->nr_indexed = 1;
}

void folder_release(struct folder *folder)
{
	strtab_release(&folder->names);
	free(folder->nodes);
	free(folder->slots);
	*folder = (struct folder){0};
}

static uint32_t clean_name(struct folder *folder, const char *text, size_t size)
{
	struct buf clean = {0};
	uint32_t id;
	size_t at = 0;

	/* most names are plain: nothing to clean, nothing to copy */
	while (at < size && text[at] >= 0x20 && text[at] < 0x7f && text[at] != ';')
		at++;
	if (size && at == size)
		return strtab_id(&folder->names, text, size);
	folded_clean(&clean, text ? text : "", size);
	id = strtab_id(&folder->names, clean.at, clean.size);
	buf_release(&clean);
	return id;
}

uint32_t folder_name(struct folder *folder, const char *text, size_t size)
{
	uint64_t hash = hash_bytes(text, size) | 1;
	struct folder_recent *recent = &folder->recent[hash >> 32 & (FOLDER_RECENT - 1)];

	if (recent->hash != hash)
		*recent = (struct folder_recent){hash, clean_name(folder, text, size)};
	return recent->name;
}

static uint32_t slot_of(uint32_t parent, uint32_t name, uint32_t nr_slots)
{
	return (uint32_t)hash_u64(parent, name) & (nr_slots - 1);
}

static void enter(struct folder *folder, uint32_t node)
{
	uint32_t parent = folder->nodes[node].parent, name = folder->nodes[node].name;
	uint32_t at = slot_of(parent, name, folder->nr_slots);

	while (folder->slots[at].node)
		at = (at + 1) & (folder->nr_slots - 1);
	folder->slots[at] = (struct folder_slot){parent, name, node};
}

/* Makes room for all nodes and one more, and enters those that are not in yet. */
static void index_nodes(struct folder *folder)
{
	if (folder->nr >= folder->nr_slots / 2) {
		while (folder->nr >= folder->nr_slots / 2)
			folder->nr_slots *= 2;
		free(folder->slots);
		folder->slots = mem_cleared(folder->nr_slots * sizeof(*folder->slots));
		folder->nr_indexed = 1;
	}
	while (folder->nr_indexed < folder->nr)
		enter(folder, folder->nr_indexed++);
}

uint32_t folder_append(struct folder *folder, uint32_t parent, uint32_t name)
{
	if (folder->nr == folder->capacity) {
		folder->capacity *= 2;
		folder->nodes = mem_resize(folder->nodes, folder->capacity, sizeof(*folder->nodes));
	}
	folder->nodes[folder->nr] = (struct folder_node){.parent = parent, .name = name};
	return folder->nr++;
}

static uint32_t find_or_append(struct folder *folder, uint32_t parent, uint32_t name)
{
	uint32_t at;

	if (folder->nr_indexed < folder->nr || folder->nr >= folder->nr_slots / 2)
		index_nodes(folder);
	at = slot_of(parent, name, folder->nr_slots);
	for (; folder->slots[at].node; at = (at + 1) & (folder->nr_slots - 1))
		if (folder->slots[at].parent == parent && folder->slots[at].name == name)
			return folder->slots[at].node;
	folder->slots[at] = (struct folder_slot){parent, name, folder->nr};
	folder->nr_indexed++;
	return folder_append(folder, parent, name);
}

uint32_t folder_child(struct folder *folder, uint32_t parent, uint32_t name)
{
	folder->last = find_or_append(folder, parent, name);
	return folder->last;
}

uint32_t folder_path(struct folder *folder, uint32_t root, const uint32_t *names, size_t nr)
{
	uint32_t node = root;
	size_t at = nr, step = 0;

	if (root != folder->path_root)
		folder->path_nr = 0;
	folder->path_root = root;
	while (at && step < folder->path_nr && folder->path[step].name == names[at - 1]) {
		node = folder->path[step++].node;
		at--;
	}
	for (; at; step++) {
		node = folder_child(folder, node, names[--at]);
		if (step < FOLDER_PATH)
			folder->path[step] = (struct folder_step){names[at], node};
	}
	folder->path_nr = (uint32_t)MIN_OF(step, (size_t)FOLDER_PATH);
	return node;
}

uint32_t folder_child_text(struct folder *folder, uint32_t parent, struct slice text)
{
	uint32_t next = folder->last + 1;

	/* inputs in order ask again in the order in which nodes were made */
	if (next < folder->nr && folder->nodes[next].parent == parent) {
		struct slice name = strtab_slice(&folder->names, folder->nodes[next].name);

		if (name.size == text.size && memcmp(name.at, text.at, text.size) == 0) {
			folder->last = next;
			return next;
		}
	}
	return folder_child(folder, parent, folder_name(folder, text.at, text.size));
}

bool folder_count(struct folder *folder, uint32_t node, weight_fx weight)
{
	if (!weight_add(&folder->total, weight))
		return false;
	folder->nodes[node].self += weight;
	return true;
}

/*
 * Sorting the whole lines by bytes without building them: among the children
 * of a node, an entry is either a child's own line (its name ends there) or
 * its subtree (a ";" follows its name). Entries sorted by name plus that
 * ending, visited depth first, give exactly the order of the full texts.
 */
struct entry {
	struct slice name;
	uint32_t node;
	bool is_subtree;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	size_t shared = MIN_OF(x->name.size, y->name.size);
	int order = memcmp(x->name.at, y->name.at, shared);
	int next_x, next_y;

	if (order)
		return order;
	/* the byte behind the shared part: of the name, its ";", or the end */
	next_x = x->name.size > shared ? (unsigned char)x->name.at[shared] :
	         x->is_subtree         ? ';' :
	                                 -1;
	next_y = y->name.size > shared ? (unsigned char)y->name.at[shared] :
	         y->is_subtree         ? ';' :
	                                 -1;
	return next_x - next_y;
}

struct writer {
	const struct folder *folder;
	uint32_t *first_child, *next_sibling; /* 0 ends a list */
	struct entry *stack;                  /* entries still to be written, last first */
	size_t nr, capacity;
};

/* Pushes the entries below a node, so that the smallest is popped first. */
static void push_children(struct writer *w, uint32_t parent)
{
	size_t first = w->nr;

	for (uint32_t id = w->first_child[parent]; id; id = w->next_sibling[id]) {
		struct entry entry = {strtab_slice(&w->folder->names, w->folder->nodes[id].name),
		                      id, false};

		if (w->folder->nodes[id].self) {
			MEM_GROW(w->stack, w->nr, w->capacity);
			w->stack[w->nr++] = entry;
		}
		if (w->first_child[id]) {
			entry.is_subtree = true;
			MEM_GROW(w->stack, w->nr, w->capacity);
			w->stack[w->nr++] = entry;
		}
	}
	if (w->nr == first) /* no stack at all: nothing may have been allocated */
		return;
	qsort(w->stack + first, w->nr - first, sizeof(*w->stack), compare_entries);
	for (size_t i = first, j = w->nr; i + 1 < j; i++) {
		struct entry swap = w->stack[i];

		w->stack[i] = w->stack[--j];
		w->stack[j] = swap;
	}
}

void folder_write(const struct folder *folder, struct output *out)
{
	struct writer w = {.folder = folder};
	struct buf path = {0};
	size_t *sizes = NULL, depth = 0, capacity = 0; /* of path before each open subtree */
	uint32_t *open = NULL;
	size_t open_capacity = 0;

	w.first_child = mem_zalloc(folder->nr * sizeof(uint32_t));
	w.next_sibling = mem_zalloc(folder->nr * sizeof(uint32_t));
	for (uint32_t id = folder->nr - 1; id; id--) {
		uint32_t parent = folder->nodes[id].parent;

		w.next_sibling[id] = w.first_child[parent];
		w.first_child[parent] = id;
	}
	push_children(&w, 0);
	while (w.nr) {
		struct entry entry = w.stack[--w.nr];
		uint32_t parent = folder->nodes[entry.node].parent;

		while (depth && open[depth - 1] != parent)
			path.size = sizes[--depth];
		if (entry.is_subtree) {
			MEM_GROW(sizes, depth, capacity);
			MEM_GROW(open, depth, open_capacity);
			sizes[depth] = path.size;
			open[depth++] = entry.node;
			buf_add(&path, entry.name.at, entry.name.size);
			buf_char(&path, ';');
			push_children(&w, entry.node);
		} else {
			char count[WEIGHT_TEXT];
			size_t size = weight_format(count, folder->nodes[entry.node].self);

			output_add(out, path.at, path.size);
			output_add(out, entry.name.at, entry.name.size);
			output_add(out, " ", 1);
			output_add(out, count, size);
			output_add(out, "\n", 1);
		}
	}
	free(w.first_child);
	free(w.next_sibling);
	free(w.stack);
	free(sizes);
	free(open);
	buf_release(&path);
}
