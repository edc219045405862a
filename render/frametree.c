#include "share/compat.h"
#include "render/frametree.h"

#include "share/mem.h"

#include <sys/mman.h>

/*
 * The key stands beside the node, so that looking it up costs one cache miss.
 * node 0 = empty: the root is nobody's child.
 */
struct frametree_slot {
	uint32_t parent, name, node, unused;
};

/* Values of below[] that are no node. */
#define BELOW_NOTHING 0
#define BELOW_SLOTS   UINT32_MAX       /* its children are in the table of slots */
#define IS_CHAIN      (UINT32_MAX - 1) /* nothing; and the node itself is a chain */

#define CHAIN_END UINT32_MAX

#define BATCH_STACKS 64
#define BATCH_IDS    (64 * 1024)

/* A stack of a batch, and how far it got. */
struct frametree_waiting {
	size_t first, end; /* its ids that are still to be found */
	uint32_t node;     /* of the frames before them */
	uint64_t hash;     /* of the next one, while it is prefetched */
	weight_fx counts[2];
};

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

/* Both have fractions, or neither. */
static void weights_copy(struct weights *w, uint32_t to, const struct weights *other, uint32_t from)
{
	w->whole[to] = other->whole[from];
	if (w->fraction)
		w->fraction[to] = other->fraction[from];
}

static void weights_move(struct weights *w, uint32_t to, uint32_t from)
{
	weights_copy(w, to, w, from);
}

/* Room for as many, with fractions where the other has them. */
static void weights_like(struct weights *w, const struct weights *other, size_t capacity)
{
	w->whole = mem_resize(NULL, capacity, sizeof(*w->whole));
	if (other->fraction)
		w->fraction = mem_resize(NULL, capacity, sizeof(*w->fraction));
}

static void weights_release(struct weights *w)
{
	free(w->whole);
	free(w->fraction);
}

static void weights_clear(struct weights *w, uint32_t node)
{
	w->whole[node] = 0;
	if (w->fraction)
		w->fraction[node] = 0;
}

/* ---- nodes ---- */

void frametree_release(struct frametree *tree)
{
	strtab_release(&tree->names);
	free(tree->nodes);
	for (int c = 0; c < 2; c++) {
		weights_release(&tree->self[c]);
		weights_release(&tree->total[c]);
	}
	free(tree->below);
	free(tree->chains);
	free(tree->slots);
	free(tree->batch.ids);
	free(tree->batch.stacks);
	free(tree->path);
	free(tree->base_ids);
	*tree = (struct frametree){0};
}

static void grow_nodes(struct frametree *tree)
{
	uint32_t old = tree->capacity;
	uint32_t capacity = old ? old + old / 2 : 1024;

	tree->nodes = mem_resize(tree->nodes, capacity, sizeof(*tree->nodes));
	tree->below = mem_resize(tree->below, capacity, sizeof(*tree->below));
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
	tree->nodes[node] = (struct frametree_node){parent, name};
	tree->below[node] = BELOW_NOTHING;
	for (int c = 0; c < tree->nr_columns; c++)
		tree->self[c].whole[node] = 0;
	return node;
}

static uint64_t hash_of(uint32_t parent, uint32_t name)
{
	return hash_u64((uint64_t)parent << 32 | name, 0);
}

/* Where hash belongs: its lower half counts from the start of the table. */
static uint32_t slot_at(const struct frametree *tree, uint64_t hash)
{
	return (uint32_t)hash & (tree->nr_slots - 1);
}

/* The slot of the child, or the empty one where it belongs. */
static struct frametree_slot *find_slot(const struct frametree *tree, uint32_t parent,
                                        uint32_t name, uint64_t hash)
{
	for (uint32_t at = slot_at(tree, hash);; at = (at + 1) & (tree->nr_slots - 1)) {
		struct frametree_slot *slot = &tree->slots[at];

		if (!slot->node || (slot->parent == parent && slot->name == name))
			return slot;
	}
}

static void grow_slots(struct frametree *tree)
{
	struct frametree_slot *old = tree->slots;
	uint32_t nr_old = tree->nr_slots;

	tree->nr_slots = nr_old ? nr_old * 2 : 4096;
	tree->slots = mem_zalloc((size_t)tree->nr_slots * sizeof(*tree->slots));
	/* accesses are spread all over: with small pages each one misses the TLB as well */
	if (tree->nr_slots >= 1 << 18) {
		uintptr_t from = ((uintptr_t)tree->slots + 4095) & ~(uintptr_t)4095;

		madvise((void *)from, (size_t)tree->nr_slots * sizeof(*tree->slots) - 4096,
		        MADV_HUGEPAGE);
	}
	for (uint32_t i = 0; i < nr_old; i++)
		if (old[i].node)
			*find_slot(tree, old[i].parent, old[i].name,
			           hash_of(old[i].parent, old[i].name)) = old[i];
	free(old);
}

static void fill_slot(struct frametree *tree, uint32_t node)
{
	struct frametree_node n = tree->nodes[node];

	if (UNLIKELY(tree->nr_used >= tree->nr_slots - tree->nr_slots / 4))
		grow_slots(tree);
	tree->nr_used++;
	tree->below[n.parent] = BELOW_SLOTS;
	*find_slot(tree, n.parent, n.name, hash_of(n.parent, n.name)) =
	        (struct frametree_slot){.parent = n.parent, .name = n.name, .node = node};
}

/* ---- chains ---- */

static bool fits_chains(const struct frametree *tree, size_t nr)
{
	return tree->chains_nr + nr + 1 < CHAIN_END;
}

/* For a parent with nothing below it. */
static uint32_t new_chain(struct frametree *tree, uint32_t parent, const uint32_t *names, size_t nr)
{
	uint32_t node = new_node(tree, parent, (uint32_t)tree->chains_nr);

	while (tree->chains_nr + nr + 1 > tree->chains_capacity) {
		tree->chains_capacity += tree->chains_capacity / 2 + 4096;
		tree->chains =
		        mem_resize(tree->chains, tree->chains_capacity, sizeof(*tree->chains));
	}
	memcpy(tree->chains + tree->chains_nr, names, nr * sizeof(*names));
	tree->chains_nr += nr;
	tree->chains[tree->chains_nr++] = CHAIN_END;
	tree->below[node] = IS_CHAIN;
	tree->below[parent] = node;
	return node;
}

static bool is_same_chain(const struct frametree *tree, uint32_t chain, const uint32_t *names,
                          size_t nr)
{
	const uint32_t *own = tree->chains + tree->nodes[chain].name;

	for (size_t i = 0; i < nr; i++)
		if (own[i] != names[i])
			return false;
	return own[nr] == CHAIN_END;
}

/* The first frame becomes a node of its own; a new chain below it has the rest. */
static void unchain(struct frametree *tree, uint32_t chain)
{
	uint32_t start = tree->nodes[chain].name, rest;

	tree->nodes[chain].name = tree->chains[start];
	tree->below[chain] = BELOW_NOTHING;
	fill_slot(tree, chain);
	if (tree->chains[start + 1] == CHAIN_END)
		return;
	rest = new_node(tree, chain, start + 1);
	tree->below[rest] = IS_CHAIN;
	tree->below[chain] = rest;
	for (int c = 0; c < tree->nr_columns; c++) {
		weights_move(&tree->self[c], rest, chain);
		weights_clear(&tree->self[c], chain);
	}
}

const uint32_t *frametree_names(const struct frametree *tree, uint32_t node, uint32_t *nr)
{
	const uint32_t *names;

	*nr = 1;
	if (tree->below[node] != IS_CHAIN)
		return &tree->nodes[node].name;
	names = tree->chains + tree->nodes[node].name;
	while (names[*nr] != CHAIN_END)
		++*nr;
	return names;
}

void frametree_begin(struct frametree *tree, int nr_columns)
{
	tree->nr_columns = nr_columns;
	grow_nodes(tree);
	new_node(tree, NODE_NONE, UINT32_MAX);
	tree->base_ids = mem_alloc((tree->nr_base + 1) * sizeof(*tree->base_ids));
	for (size_t i = 0; i < tree->nr_base; i++)
		tree->base_ids[i] = strtab_cstr(&tree->names, tree->base[i]);
	grow_slots(tree);
	tree->batch.stacks = mem_alloc(BATCH_STACKS * sizeof(*tree->batch.stacks));
}

/* ---- batches ---- */

static void count_at(struct frametree *tree, uint32_t node, const weight_fx *counts)
{
	for (int c = 0; c < tree->nr_columns; c++)
		weights_add(&tree->self[c], node, counts[c], tree->capacity);
}

/* One frame further, or to the end. False where the stack has come to its end. */
static bool advance(struct frametree *tree, struct frametree_waiting *w)
{
	const uint32_t *names = tree->batch.ids + w->first;
	size_t nr = w->end - w->first;
	uint32_t below;
	const struct frametree_slot *slot = find_slot(tree, w->node, *names, w->hash);

	if (slot->node) {
		w->node = slot->node;
		w->first++;
		return true;
	}
	below = tree->below[w->node];
	if (below != BELOW_NOTHING && below != BELOW_SLOTS) {
		if (!is_same_chain(tree, below, names, nr)) {
			/* and maybe meets its first frame again */
			unchain(tree, below);
			return true;
		}
		w->node = below;
	} else {
		if (below == BELOW_SLOTS || !fits_chains(tree, nr)) {
			w->node = new_node(tree, w->node, *names++);
			fill_slot(tree, w->node);
			w->first++;
			if (--nr && !fits_chains(tree, nr))
				return true;
		}
		if (nr)
			w->node = new_chain(tree, w->node, names, nr);
	}
	count_at(tree, w->node, w->counts);
	return false;
}

/*
 * Finding a child is a cache miss; the stacks of a batch take theirs at the
 * same time, one depth after the other. A third of the cost of one stack
 * after the other, measured on a million stacks.
 */
static void flush(struct frametree *tree)
{
	struct frametree_batch *batch = &tree->batch;
	struct frametree_waiting *at[BATCH_STACKS];
	unsigned nr = 0;

	for (unsigned i = 0; i < batch->nr; i++)
		at[nr++] = &batch->stacks[i];
	while (nr) {
		unsigned nr_left = 0;

		for (unsigned i = 0; i < nr; i++) {
			struct frametree_waiting *w = at[i];

			if (w->first == w->end) {
				count_at(tree, w->node, w->counts);
				continue;
			}
			w->hash = hash_of(w->node, batch->ids[w->first]);
			__builtin_prefetch(&tree->slots[slot_at(tree, w->hash)]);
			at[nr_left++] = w;
		}
		nr = nr_left;
		nr_left = 0;
		for (unsigned i = 0; i < nr; i++)
			if (advance(tree, at[i]))
				at[nr_left++] = at[i];
		nr = nr_left;
	}
	batch->nr = 0;
	batch->nr_ids = 0;
}

/* Bytes of `word` that are ";" have their highest bit set in the result. */
static inline uint64_t semicolons(uint64_t word)
{
	uint64_t x = word ^ 0x3b3b3b3b3b3b3b3bu;

	return (x - 0x0101010101010101u) & ~x & 0x8080808080808080u;
}

/*
 * The next frame's name id, hashed while its end is looked for; UINT32_MAX at
 * the end. Empty frames are passed over, as by folded_frame().
 */
static inline uint32_t next_name(struct frametree *tree, struct slice *rest)
{
	const char *start = rest->at, *end = start + rest->size, *p;
	uint64_t hash = HASH_START, tail = 0, found = 0;
	size_t size;

	while (start < end && *start == ';')
		start++;
	if (start == end)
		return UINT32_MAX;
	for (p = start; end - p >= 8; p += 8) {
		memcpy(&tail, p, 8);
		found = semicolons(tail);
		if (found)
			break;
		hash = hash_word(hash, tail);
	}
	if (found) {
		/* the lowest mark is exact, those above it need not be */
		unsigned bits = (unsigned)__builtin_ctzll(found) - 7;

		tail &= ((uint64_t)1 << bits) - 1;
		p += bits / 8;
	} else {
		unsigned bits = 0;

		for (tail = 0; p < end && *p != ';'; p++, bits += 8)
			tail |= (uint64_t)(unsigned char)*p << bits;
	}
	size = (size_t)(p - start);
	rest->at = p;
	rest->size = (size_t)(end - p);
	return strtab_id_hashed(&tree->names, start, size, hash_tail(hash, tail, size));
}

static bool is_base(const struct frametree *tree, uint32_t name)
{
	for (size_t i = 0; i < tree->nr_base; i++)
		if (tree->base_ids[i] == name)
			return true;
	return false;
}

/* A flame chart merges with the stack before it, and with no other. [first, last) of the batch. */
static void add_to_chart(struct frametree *tree, size_t first, size_t last, const weight_fx *counts)
{
	const uint32_t *ids = tree->batch.ids;
	uint32_t node = 0;
	size_t i = 0;

	while (first < last && i < tree->path_nr && tree->nodes[tree->path[i]].name == ids[first]) {
		node = tree->path[i++];
		first++;
	}
	for (tree->path_nr = i; first < last; first++) {
		node = new_node(tree, node, ids[first]);
		MEM_GROW(tree->path, tree->path_nr, tree->path_capacity);
		tree->path[tree->path_nr++] = node;
	}
	count_at(tree, node, counts);
}

int frametree_add(struct frametree *tree, const struct folded_stack *stack, struct err *err)
{
	struct frametree_batch *batch = &tree->batch;
	struct slice rest = stack->stack;
	size_t first = batch->nr_ids, last;
	struct frametree_waiting w = {0};
	uint32_t id;

	while ((id = next_name(tree, &rest)) != UINT32_MAX) {
		MEM_GROW(batch->ids, batch->nr_ids, batch->ids_capacity);
		batch->ids[batch->nr_ids++] = id;
	}
	tree->nr_stacks++;
	if (tree->nr_base) {
		while (first < batch->nr_ids && !is_base(tree, batch->ids[first]))
			first++;
		if (first == batch->nr_ids) {
			tree->nr_outside++;
			return 0;
		}
	}
	for (int c = 0; c < tree->nr_columns; c++) {
		w.counts[c] = stack->counts[c];
		/* whole and fraction apart: their products fit in 128 bits */
		if (tree->factor)
			w.counts[c] = w.counts[c] / WEIGHT_ONE * tree->factor +
			              w.counts[c] % WEIGHT_ONE * tree->factor / WEIGHT_ONE;
		if (!weight_add(&tree->sum[c], w.counts[c]))
			return err_set(err, "the counts add up to 2^64 or more, which is "
			                    "beyond what can be drawn; scale them down first");
	}
	last = batch->nr_ids;
	for (size_t i = 0; tree->reverse && first + i + 1 < last - i; i++) {
		uint32_t other = batch->ids[first + i];

		batch->ids[first + i] = batch->ids[last - 1 - i];
		batch->ids[last - 1 - i] = other;
	}
	if (tree->chart) {
		add_to_chart(tree, first, last, w.counts);
		batch->nr_ids = 0;
		return 0;
	}
	w.first = first;
	w.end = last;
	batch->stacks[batch->nr++] = w;
	if (batch->nr == BATCH_STACKS || batch->nr_ids >= BATCH_IDS)
		flush(tree);
	return 0;
}

int frametree_read(struct frametree *tree, struct folded_reader *reader, struct err *err)
{
	struct folded_stack stack;
	int rc;

	while ((rc = folded_next(reader, &stack, err)) > 0) {
		if (!tree->nr_columns)
			frametree_begin(tree, reader->nr_columns);
		if (UNLIKELY(tree->nr_columns != reader->nr_columns))
			return err_set(err, "'%s' has %d count column%s, the files before it %d",
			               input_name(reader->in), reader->nr_columns,
			               reader->nr_columns == 1 ? "" : "s", tree->nr_columns);
		if (frametree_add(tree, &stack, err) < 0)
			return -1;
		if (tree->nr_stacks % 4096 == 0)
			input_forget(reader->in, stack.stack.at);
	}
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
			weights_add(total, tree->nodes[i].parent, weights_get(total, i),
			            tree->capacity);
	} else {
		for (uint32_t i = tree->nr; i-- > 1;)
			total->whole[tree->nodes[i].parent] += total->whole[i];
	}
}

void frametree_sum(struct frametree *tree)
{
	if (!tree->nr_columns)
		frametree_begin(tree, 1);
	flush(tree);
	free(tree->slots);
	tree->slots = NULL;
	tree->nr_slots = tree->nr_used = 0;
	for (int c = 0; c < tree->nr_columns; c++)
		sum_column(tree, c);
}

void frametree_expand(struct frametree *tree)
{
	struct frametree all = {.nr_columns = tree->nr_columns};
	uint32_t *moved, nr;

	if (!tree->chains_nr)
		return;
	all.capacity = 1;
	for (uint32_t i = 1; i < tree->nr; i++) {
		frametree_names(tree, i, &nr);
		all.capacity += nr;
	}
	all.nodes = mem_resize(NULL, all.capacity, sizeof(*all.nodes));
	for (int c = 0; c < tree->nr_columns; c++) {
		weights_like(&all.self[c], &tree->self[c], all.capacity);
		weights_like(&all.total[c], &tree->total[c], all.capacity);
	}
	moved = mem_resize(NULL, tree->nr, sizeof(*moved));
	for (uint32_t i = 0; i < tree->nr; i++) {
		const uint32_t *names = frametree_names(tree, i, &nr);
		uint32_t parent = i ? moved[tree->nodes[i].parent] : NODE_NONE;

		for (uint32_t k = 0; k < nr; k++, parent = all.nr++) {
			all.nodes[all.nr] = (struct frametree_node){parent, names[k]};
			for (int c = 0; c < tree->nr_columns; c++) {
				weights_copy(&all.total[c], all.nr, &tree->total[c], i);
				if (k + 1 == nr)
					weights_copy(&all.self[c], all.nr, &tree->self[c], i);
				else
					weights_clear(&all.self[c], all.nr);
			}
		}
		moved[i] = parent;
	}
	free(moved);
	free(tree->nodes);
	tree->nodes = all.nodes;
	for (int c = 0; c < tree->nr_columns; c++) {
		weights_release(&tree->self[c]);
		weights_release(&tree->total[c]);
		tree->self[c] = all.self[c];
		tree->total[c] = all.total[c];
	}
	tree->nr = all.nr;
	tree->capacity = all.capacity;
	free(tree->below);
	free(tree->chains);
	tree->below = tree->chains = NULL;
	tree->chains_nr = tree->chains_capacity = 0;
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

/* Adds what `from` weighs in all to a node without children. */
static void give(struct frametree *tree, uint32_t to, uint32_t from)
{
	for (int c = 0; c < tree->nr_columns; c++) {
		weight_fx lost = frametree_total(tree, from, c);

		weights_add(&tree->self[c], to, lost, tree->capacity);
		weights_add(&tree->total[c], to, lost, tree->capacity);
	}
}

/* thin[node]: its child for what is pruned, made at the first such loss; 0 = none */
static void gather(struct frametree *tree, uint32_t node, uint32_t name, uint32_t *thin)
{
	uint32_t parent = tree->nodes[node].parent;

	if (!thin[parent]) {
		thin[parent] = new_node(tree, parent, name);
		for (int c = 0; c < tree->nr_columns; c++) {
			tree->total[c].whole[thin[parent]] = 0;
			if (tree->total[c].fraction)
				tree->total[c].fraction[thin[parent]] = 0;
			if (tree->self[c].fraction)
				tree->self[c].fraction[thin[parent]] = 0;
		}
	}
	give(tree, thin[parent], node);
}

uint32_t frametree_prune(struct frametree *tree, weight_fx threshold)
{
	uint32_t name = strtab_cstr(&tree->names, THIN_NAME), nr_all = tree->nr, nr = 1;
	uint32_t *thin = mem_zalloc((size_t)nr_all * sizeof(*thin));
	uint32_t *moved;

	for (uint32_t i = 1; i < nr_all; i++) {
		uint32_t parent = tree->nodes[i].parent;

		if (frametree_below(tree, i, threshold) && !frametree_empty(tree, i) &&
		    (!parent || !frametree_below(tree, parent, threshold)))
			gather(tree, i, name, thin);
	}
	moved = mem_alloc((size_t)nr_all * sizeof(*moved));
	moved[0] = 0;
	for (uint32_t i = 1; i < tree->nr; i++) {
		struct frametree_node node = tree->nodes[i];

		if (i < nr_all && frametree_below(tree, i, threshold))
			continue;
		if (i < nr_all)
			moved[i] = nr;
		tree->nodes[nr] = (struct frametree_node){moved[node.parent], node.name};
		tree->below[nr] = tree->below[i];
		for (int c = 0; c < tree->nr_columns; c++) {
			weights_move(&tree->self[c], nr, i);
			weights_move(&tree->total[c], nr, i);
		}
		nr++;
	}
	nr_all -= nr - (tree->nr - nr_all);
	tree->nr = nr;
	free(moved);
	free(thin);
	return nr_all;
}
