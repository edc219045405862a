#include "share/compat.h"
#include "render/frametree.h"

#include "share/mem.h"

struct frametree_slot {
	uint32_t parent, name, node; /* node 0 = empty: the root is nobody's child */
};

/* Where a frame of the previous stack ends, and its node. */
struct frame_end {
	size_t end;
	uint32_t node;
};

void frametree_release(struct frametree *tree)
{
	strtab_release(&tree->names);
	free(tree->parent);
	free(tree->name);
	for (int c = 0; c < 2; c++) {
		free(tree->self[c].whole);
		free(tree->self[c].fraction);
		free(tree->total[c].whole);
		free(tree->total[c].fraction);
	}
	free(tree->slots);
	free(tree->path);
	free(tree->base_ids);
	buf_release(&tree->last);
	*tree = (struct frametree){0};
}

/* ---- weights ---- */

static void weights_add(struct weights *w, uint32_t node, weight_fx weight, size_t capacity)
{
	uint32_t fraction = (uint32_t)(weight % WEIGHT_ONE);

	w->whole[node] += (uint64_t)(weight / WEIGHT_ONE);
	if (UNLIKELY(fraction && !w->fraction)) {
		w->fraction = mem_resize(NULL, capacity, sizeof(*w->fraction));
		memset(w->fraction, 0, capacity * sizeof(*w->fraction));
	}
	if (w->fraction) {
		w->fraction[node] += fraction;
		if (w->fraction[node] >= WEIGHT_ONE) {
			w->fraction[node] -= WEIGHT_ONE;
			w->whole[node]++;
		}
	}
}

static void weights_grow(struct weights *w, size_t capacity, size_t old)
{
	w->whole = mem_resize(w->whole, capacity, sizeof(*w->whole));
	if (!w->fraction)
		return;
	w->fraction = mem_resize(w->fraction, capacity, sizeof(*w->fraction));
	memset(w->fraction + old, 0, (capacity - old) * sizeof(*w->fraction));
}

/* ---- nodes ---- */

static void grow_nodes(struct frametree *tree)
{
	uint32_t old = tree->capacity;
	uint32_t capacity = old ? old + old / 2 : 1024;

	tree->parent = mem_resize(tree->parent, capacity, sizeof(*tree->parent));
	tree->name = mem_resize(tree->name, capacity, sizeof(*tree->name));
	for (int c = 0; c < tree->nr_columns; c++) {
		weights_grow(&tree->self[c], capacity, old);
		if (tree->total[c].whole)
			weights_grow(&tree->total[c], capacity, old);
	}
	tree->capacity = capacity;
}

static uint32_t new_node(struct frametree *tree, uint32_t parent, uint32_t name)
{
	uint32_t node = tree->nr;

	if (UNLIKELY(node == tree->capacity))
		grow_nodes(tree);
	tree->nr++;
	tree->parent[node] = parent;
	tree->name[node] = name;
	for (int c = 0; c < tree->nr_columns; c++)
		tree->self[c].whole[node] = 0;
	return node;
}

static uint32_t slot_at(const struct frametree *tree, uint32_t parent, uint32_t name)
{
	return (uint32_t)hash_u64((uint64_t)parent << 32 | name, 0) & (tree->nr_slots - 1);
}

static void grow_slots(struct frametree *tree)
{
	struct frametree_slot *old = tree->slots;
	uint32_t nr_old = tree->nr_slots;

	tree->nr_slots = nr_old ? nr_old * 2 : 4096;
	tree->slots = mem_zalloc(tree->nr_slots * sizeof(*tree->slots));
	for (uint32_t i = 0; i < nr_old; i++) {
		uint32_t at;

		if (!old[i].node)
			continue;
		at = slot_at(tree, old[i].parent, old[i].name);
		while (tree->slots[at].node)
			at = (at + 1) & (tree->nr_slots - 1);
		tree->slots[at] = old[i];
	}
	free(old);
}

static uint32_t child(struct frametree *tree, uint32_t parent, uint32_t name)
{
	uint32_t at;

	if (tree->nr_used >= tree->nr_slots - tree->nr_slots / 4)
		grow_slots(tree);
	at = slot_at(tree, parent, name);
	for (;;) {
		struct frametree_slot *slot = &tree->slots[at];

		if (!slot->node) {
			tree->nr_used++;
			*slot = (struct frametree_slot){parent, name, new_node(tree, parent, name)};
			return slot->node;
		}
		if (slot->parent == parent && slot->name == name)
			return slot->node;
		at = (at + 1) & (tree->nr_slots - 1);
	}
}

static void begin(struct frametree *tree, int nr_columns)
{
	tree->nr_columns = nr_columns;
	grow_nodes(tree);
	new_node(tree, NODE_NONE, UINT32_MAX);
	tree->base_ids = mem_alloc((tree->nr_base + 1) * sizeof(*tree->base_ids));
	for (size_t i = 0; i < tree->nr_base; i++)
		tree->base_ids[i] = strtab_cstr(&tree->names, tree->base[i]);
}

/* ---- one stack ---- */

static void push(struct frametree *tree, size_t end, uint32_t node)
{
	MEM_GROW(tree->path, tree->path_nr, tree->path_capacity);
	tree->path[tree->path_nr++] = (struct frame_end){end, node};
}

static size_t common_prefix(const char *a, const char *b, size_t size)
{
	size_t at = 0;

	for (; at + 8 <= size; at += 8) {
		uint64_t x, y;

		memcpy(&x, a + at, 8);
		memcpy(&y, b + at, 8);
		if (x != y)
			break;
	}
	while (at < size && a[at] == b[at])
		at++;
	return at;
}

/* Drops the frames of the previous stack that this one does not begin with. */
static void keep_shared(struct frametree *tree, struct slice stack)
{
	struct slice last = tree->last_stack;
	size_t common = common_prefix(stack.at, last.at, MIN_OF(stack.size, last.size));

	while (tree->path_nr) {
		size_t end = tree->path[tree->path_nr - 1].end;

		if (end <= common && (end == stack.size || stack.at[end] == ';') &&
		    (end == last.size || last.at[end] == ';'))
			break;
		tree->path_nr--;
	}
}

static uint32_t add_from_root(struct frametree *tree, struct slice stack)
{
	struct slice rest, frame;
	uint32_t node = 0;
	size_t done = 0;

	keep_shared(tree, stack);
	if (tree->path_nr) {
		done = tree->path[tree->path_nr - 1].end;
		node = tree->path[tree->path_nr - 1].node;
	}
	rest = (struct slice){stack.at + done, stack.size - done};
	while (folded_frame(&rest, &frame)) {
		uint32_t name = strtab_id(&tree->names, frame.at, frame.size);

		node = tree->chart ? new_node(tree, node, name) : child(tree, node, name);
		push(tree, (size_t)(frame.at + frame.size - stack.at), node);
	}
	return node;
}

static bool is_base(const struct frametree *tree, uint32_t name)
{
	for (size_t i = 0; i < tree->nr_base; i++)
		if (tree->base_ids[i] == name)
			return true;
	return false;
}

/* NODE_NONE where base frames are asked for and the stack has none. */
static uint32_t add_rearranged(struct frametree *tree, struct slice stack)
{
	struct slice rest = stack, frame;
	uint32_t node = 0;
	size_t first = 0, nr = 0;

	tree->path_nr = 0;
	while (folded_frame(&rest, &frame))
		push(tree, 0, strtab_id(&tree->names, frame.at, frame.size));
	nr = tree->path_nr;
	tree->path_nr = 0;
	if (tree->nr_base) {
		while (first < nr && !is_base(tree, tree->path[first].node))
			first++;
		if (first == nr)
			return NODE_NONE;
	}
	for (size_t i = 0; first + i < nr; i++)
		node = child(tree, node, tree->path[tree->reverse ? nr - 1 - i : first + i].node);
	return node;
}

int frametree_add(struct frametree *tree, const struct folded_stack *stack, bool keeps,
                  struct err *err)
{
	uint32_t node;

	if (tree->reverse || tree->nr_base) {
		node = add_rearranged(tree, stack->stack);
	} else {
		node = add_from_root(tree, stack->stack);
		tree->last_stack = stack->stack;
		if (!keeps) {
			buf_reset(&tree->last);
			buf_add(&tree->last, stack->stack.at, stack->stack.size);
			tree->last_stack.at = tree->last.at;
		}
	}
	tree->nr_stacks++;
	if (node == NODE_NONE) {
		tree->nr_outside++;
		return 0;
	}
	for (int c = 0; c < tree->nr_columns; c++) {
		weight_fx count = stack->counts[c];

		/* whole and fraction apart: their products fit in 128 bits */
		if (tree->factor)
			count = count / WEIGHT_ONE * tree->factor +
			        count % WEIGHT_ONE * tree->factor / WEIGHT_ONE;
		if (!weight_add(&tree->sum[c], count))
			return err_set(err, "the counts add up to 2^64 or more, which is "
			                    "beyond what can be drawn; scale them down first");
		weights_add(&tree->self[c], node, count, tree->capacity);
	}
	return 0;
}

int frametree_read(struct frametree *tree, struct folded_reader *reader, struct err *err)
{
	struct folded_stack stack;
	bool keeps = input_is_mapped(reader->in);
	int rc;

	/* what was borrowed from another input is gone */
	tree->last_stack = (struct slice){0};
	tree->path_nr = 0;
	while ((rc = folded_next(reader, &stack, err)) > 0) {
		if (!tree->nr_columns)
			begin(tree, reader->nr_columns);
		if (UNLIKELY(tree->nr_columns != reader->nr_columns))
			return err_set(err, "'%s' has %d count column%s, the files before it %d",
			               input_name(reader->in), reader->nr_columns,
			               reader->nr_columns == 1 ? "" : "s", tree->nr_columns);
		if (frametree_add(tree, &stack, keeps, err) < 0)
			return -1;
	}
	tree->last_stack = (struct slice){0};
	tree->path_nr = 0;
	return rc;
}

/* ---- afterwards ---- */

static void sum_column(struct frametree *tree, int c)
{
	struct weights *total = &tree->total[c];
	const struct weights *self = &tree->self[c];

	total->whole = mem_resize(NULL, tree->capacity, sizeof(*total->whole));
	memcpy(total->whole, self->whole, tree->nr * sizeof(*total->whole));
	if (self->fraction) {
		total->fraction = mem_resize(NULL, tree->capacity, sizeof(*total->fraction));
		memcpy(total->fraction, self->fraction, tree->capacity * sizeof(*total->fraction));
		for (uint32_t i = tree->nr; i-- > 1;)
			weights_add(total, tree->parent[i], weights_get(total, i), tree->capacity);
	} else {
		for (uint32_t i = tree->nr; i-- > 1;)
			total->whole[tree->parent[i]] += total->whole[i];
	}
}

void frametree_sum(struct frametree *tree)
{
	free(tree->slots);
	tree->slots = NULL;
	if (!tree->nr_columns)
		begin(tree, 1);
	for (int c = 0; c < tree->nr_columns; c++)
		sum_column(tree, c);
}

void frametree_grow_node(struct frametree *tree, uint32_t node, const weight_fx self[2])
{
	for (int c = 0; c < tree->nr_columns; c++) {
		weights_add(&tree->self[c], node, self[c], tree->capacity);
		weights_add(&tree->total[c], node, self[c], tree->capacity);
	}
}

uint32_t frametree_extra(struct frametree *tree, uint32_t parent, uint32_t name,
                         const weight_fx self[2])
{
	uint32_t node = new_node(tree, parent, name);

	for (int c = 0; c < tree->nr_columns; c++)
		tree->total[c].whole[node] = 0;
	frametree_grow_node(tree, node, self);
	return node;
}

int frametree_set_total(struct frametree *tree, weight_fx total)
{
	for (int c = 0; c < tree->nr_columns; c++) {
		weight_fx more = total - tree->sum[c];

		if (total < tree->sum[c])
			return -1;
		weights_add(&tree->self[c], 0, more, tree->capacity);
		weights_add(&tree->total[c], 0, more, tree->capacity);
	}
	return 0;
}
