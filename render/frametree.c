#include "share/compat.h"
#include "render/frametree.h"

#include "share/mem.h"

void frametree_release(struct frametree *tree)
{
	strtab_release(&tree->names);
	framer_release(&tree->framer);
	pile_release(&tree->pile);
	free(tree->base_ids);
	free(tree->runs);
	free(tree->nodes);
	for (int c = 0; c < 2; c++) {
		weights_release(&tree->self[c]);
		weights_release(&tree->total[c]);
	}
	free(tree->rank);
	*tree = (struct frametree){0};
}

/* ---- reading ---- */

void frametree_begin(struct frametree *tree, int nr_columns)
{
	tree->nr_columns = nr_columns;
	tree->pile.nr_columns = nr_columns;
	tree->pile.ordered = tree->chart;
	tree->base_ids = mem_alloc((tree->nr_base + 1) * sizeof(*tree->base_ids));
	for (size_t i = 0; i < tree->nr_base; i++)
		tree->base_ids[i] = strtab_cstr(&tree->names, tree->base[i]);
}

static bool is_base(const struct frametree *tree, uint32_t name)
{
	for (size_t i = 0; i < tree->nr_base; i++)
		if (tree->base_ids[i] == name)
			return true;
	return false;
}

int frametree_add(struct frametree *tree, const struct folded_stack *stack, struct err *err)
{
	weight_fx counts[2] = {0};
	size_t nr;
	const uint32_t *ids = framer_split(&tree->framer, &tree->names, stack->stack, &nr);

	tree->nr_stacks++;
	if (tree->nr_base) {
		size_t first = 0;

		while (first < nr && !is_base(tree, ids[first]))
			first++;
		if (first == nr && tree->keep_others)
			first = 0;
		ids += first;
		nr -= first;
		if (!nr) {
			tree->nr_outside++;
			return 0;
		}
	}
	for (int c = 0; c < tree->nr_columns; c++) {
		counts[c] = stack->counts[c];
		/* whole and fraction apart: their products fit in 128 bits */
		if (tree->factor)
			counts[c] = counts[c] / WEIGHT_ONE * tree->factor +
			            counts[c] % WEIGHT_ONE * tree->factor / WEIGHT_ONE;
		if (!weight_add(&tree->sum[c], counts[c]))
			return err_set(err, "the counts add up to 2^64 or more, which is "
			                    "beyond what can be drawn; scale them down first");
	}
	if (nr + PILE_WAITING >= UINT32_MAX - tree->pile.nr_ids)
		return err_set(err, "the distinct stacks have 2^32 frames or more, which is "
		                    "beyond what can be drawn");
	pile_add(&tree->pile, ids, nr, tree->reverse, counts);
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

/* ---- parting the stacks ---- */

/* A stack on its way down. */
struct mover {
	uint32_t at;  /* of its next name in pile.ids */
	uint32_t key; /* of the name before that: rank + 1, or KEY_END */
};

#define KEY_END 0

/* Movers first to end go through the same frames, and are to become a node. */
struct group {
	uint32_t first, end;
	uint32_t parent;
};

struct parting {
	struct frametree *tree;
	struct mover *movers, *spare;
	uint32_t *start; /* by key, all 0 between uses */
	uint32_t *keys;
	struct group *todo; /* the next one last */
	size_t nr_todo, todo_capacity;
};

#define FEW   24 /* movers that are sorted by insertion */
#define AHEAD 64

static void rank_names(struct frametree *tree)
{
	uint32_t nr = tree->names.nr;
	uint32_t *sorted = mem_resize(NULL, nr, sizeof(*sorted));

	for (uint32_t i = 0; i < nr; i++)
		sorted[i] = i;
	/* a flame chart has its own order, and needs no more than numbers here */
	if (!tree->chart)
		qsort_r(sorted, nr, sizeof(*sorted), strtab_by_text, &tree->names);
	tree->rank = mem_resize(NULL, nr, sizeof(*tree->rank));
	for (uint32_t i = 0; i < nr; i++)
		tree->rank[sorted[i]] = i;
	free(sorted);
}

/* How many next names all movers have in common: their stacks are read once for all of them. */
static uint32_t count_shared(const uint32_t *ids, const struct mover *movers, uint32_t nr)
{
	const uint32_t *first = ids + movers->at;
	uint32_t shared = UINT32_MAX;

	for (uint32_t i = 1; i < nr && shared; i++) {
		const uint32_t *other = ids + movers[i].at;
		uint32_t same = 0;

		if (i + AHEAD < nr)
			__builtin_prefetch(&ids[movers[i + AHEAD].at]);
		while (same < shared && first[same] == other[same] && first[same] != PILE_END)
			same++;
		shared = same;
	}
	return shared;
}

/* Each mover passes `shared` names and one more; false where that is not in order. */
static bool move_on(const struct frametree *tree, struct mover *movers, uint32_t nr,
                    uint32_t shared)
{
	const uint32_t *ids = tree->pile.ids;
	bool sorted = true;
	uint32_t before = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t id, key;

		if (i + AHEAD < nr)
			__builtin_prefetch(&ids[movers[i + AHEAD].at + shared]);
		id = ids[movers[i].at + shared];
		key = id == PILE_END ? KEY_END : tree->rank[id] + 1;
		movers[i] = (struct mover){movers[i].at + shared + 1, key};
		sorted &= key >= before;
		before = key;
	}
	return sorted;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort_few(struct mover *movers, uint32_t nr)
{
	for (uint32_t i = 1; i < nr; i++) {
		struct mover mover = movers[i];
		uint32_t at = i;

		for (; at && movers[at - 1].key > mover.key; at--)
			movers[at] = movers[at - 1];
		movers[at] = mover;
	}
}

/* Counting sort; only the keys that occur are visited. */
static void sort_many(struct parting *p, struct mover *movers, uint32_t nr)
{
	uint32_t nr_keys = 0, at = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (!p->start[movers[i].key]++)
			p->keys[nr_keys++] = movers[i].key;
	qsort(p->keys, nr_keys, sizeof(*p->keys), by_number);
	for (uint32_t i = 0; i < nr_keys; i++) {
		uint32_t size = p->start[p->keys[i]];

		p->start[p->keys[i]] = at;
		at += size;
	}
	memcpy(p->spare, movers, nr * sizeof(*movers));
	for (uint32_t i = 0; i < nr; i++)
		movers[p->start[p->spare[i].key]++] = p->spare[i];
	for (uint32_t i = 0; i < nr_keys; i++)
		p->start[p->keys[i]] = 0;
}

/* counts: behind the end of a stack */
static void end_here(struct frametree *tree, uint32_t run, const uint32_t *counts)
{
	for (int c = 0; c < tree->nr_columns; c++)
		pile_count_to(counts + c * COUNT_WORDS, &tree->total[c], run);
}

/* Neighbours of one key become a group; the first of them is done next. */
static void add_groups(struct parting *p, const struct group *group, uint32_t node)
{
	for (uint32_t end = group->end; end > group->first;) {
		uint32_t first = end - 1, key = p->movers[first].key;

		if (key == KEY_END) {
			end_here(p->tree, node, p->tree->pile.ids + p->movers[first].at);
		} else {
			while (first > group->first && p->movers[first - 1].key == key)
				first--;
			MEM_GROW(p->todo, p->nr_todo, p->todo_capacity);
			p->todo[p->nr_todo++] = (struct group){first, end, node};
		}
		end = first;
	}
}

static void add_node(struct parting *p, const struct group *group)
{
	struct frametree *tree = p->tree;
	struct mover *movers = p->movers + group->first;
	uint32_t nr = group->end - group->first, node = tree->nr++, shared = 0;
	struct frametree_run *run = &tree->runs[node];

	/* the movers have passed its first frame */
	*run = (struct frametree_run){.parent = group->parent};
	if (node) {
		run->first = movers->at - 1;
		run->nr = 1;
	}
	for (int c = 0; c < tree->nr_columns; c++)
		weights_set(&tree->total[c], node, 0);
	if (nr == 1 && node) {
		const uint32_t *id = tree->pile.ids + movers->at;

		while (*id != PILE_END)
			id++;
		run->nr += (uint32_t)(id - tree->pile.ids) - movers->at;
		end_here(tree, node, id + 1);
		return;
	}
	/* the root takes none of the frames */
	if (node)
		shared = count_shared(tree->pile.ids, movers, nr);
	run->nr += shared;
	if (!move_on(tree, movers, nr, shared) && !tree->chart) {
		if (nr <= FEW)
			sort_few(movers, nr);
		else
			sort_many(p, movers, nr);
	}
	add_groups(p, group, node);
}

void frametree_build(struct frametree *tree)
{
	struct parting p = {.tree = tree};
	uint32_t nr;
	size_t max_nr;

	if (!tree->nr_columns)
		frametree_begin(tree, 1);
	pile_settle(&tree->pile);
	nr = tree->pile.nr;
	strtab_cstr(&tree->names, THIN_NAME);
	rank_names(tree);
	/* of each two that part, one ends or is a node of its own */
	max_nr = 2 * (size_t)nr + 1;
	tree->runs = mem_resize(NULL, max_nr, sizeof(*tree->runs));
	for (int c = 0; c < tree->nr_columns; c++)
		weights_resize(&tree->total[c], max_nr);
	p.movers = mem_resize(NULL, nr + 1, sizeof(*p.movers));
	p.spare = mem_resize(NULL, nr + 1, sizeof(*p.spare));
	p.start = mem_zalloc(((size_t)tree->names.nr + 1) * sizeof(*p.start));
	p.keys = mem_alloc(((size_t)tree->names.nr + 1) * sizeof(*p.keys));
	for (uint32_t i = 0; i < nr; i++)
		p.movers[i] = (struct mover){.at = tree->pile.first[i]};
	add_node(&p, &(struct group){0, nr, NODE_NONE});
	while (p.nr_todo) {
		struct group group = p.todo[--p.nr_todo];

		add_node(&p, &group);
	}
	free(p.movers);
	free(p.spare);
	free(p.start);
	free(p.keys);
	free(p.todo);
	for (int c = 0; c < tree->nr_columns; c++)
		for (uint32_t i = tree->nr; i-- > 1;)
			weights_add_other(&tree->total[c], tree->runs[i].parent, &tree->total[c],
			                  i);
}

int frametree_set_total(struct frametree *tree, weight_fx total)
{
	for (int c = 0; c < tree->nr_columns; c++) {
		if (total < tree->sum[c])
			return -1;
		weights_set(&tree->total[c], 0, total);
	}
	return 0;
}

/* ---- what remains ---- */

/* A kept run whose nodes are made, while those below it are. */
struct open_run {
	uint32_t run, node; /* the last of its frames */
	bool lacks_thin;    /* has lost weight, and not yet got the node for it */
};

struct settling {
	struct frametree *tree;
	uint64_t whole; /* of the threshold */
	uint32_t fraction;
	uint32_t thin; /* name */

	struct weights lost[2]; /* by run: what is below it and too light */
	bool has_thin;          /* some node stands for what was lost */

	uint32_t nr;
	struct frametree_node *nodes;
	struct weights total[2];
	struct open_run *open;
	size_t nr_open, open_capacity;
};

/* Comparisons of 64 bits: this is asked of each run of a large tree. */
static bool is_light(const struct settling *s, uint32_t run)
{
	for (int c = 0; c < s->tree->nr_columns; c++) {
		const struct weights *total = &s->tree->total[c];

		if (total->whole[run] > s->whole ||
		    (total->whole[run] == s->whole &&
		     (total->fraction ? total->fraction[run] : 0) >= s->fraction))
			return false;
	}
	return run != 0;
}

static bool has_lost(const struct settling *s, uint32_t run)
{
	for (int c = 0; c < s->tree->nr_columns; c++)
		if (weights_get(&s->lost[c], run))
			return true;
	return false;
}

/* Adds up what is lost; returns how many nodes there will be. */
static size_t weigh(struct settling *s)
{
	const struct frametree *tree = s->tree;
	size_t nr = 1;

	for (int c = 0; c < tree->nr_columns; c++)
		weights_clear(&s->lost[c], tree->nr);
	for (uint32_t i = 1; i < tree->nr; i++) {
		uint32_t parent = tree->runs[i].parent;

		if (!is_light(s, i)) {
			nr += tree->runs[i].nr;
			continue;
		}
		if (is_light(s, parent))
			continue;
		nr += !has_lost(s, parent);
		for (int c = 0; c < tree->nr_columns; c++)
			weights_add_other(&s->lost[c], parent, &tree->total[c], i);
	}
	return nr;
}

static void put_thin(struct settling *s, struct open_run *open)
{
	s->nodes[s->nr] = (struct frametree_node){open->node, s->thin};
	for (int c = 0; c < s->tree->nr_columns; c++)
		weights_set(&s->total[c], s->nr, weights_get(&s->lost[c], open->run));
	s->nr++;
	s->has_thin = true;
	open->lacks_thin = false;
}

static void close_run(struct settling *s)
{
	struct open_run *open = &s->open[s->nr_open - 1];

	if (open->lacks_thin)
		put_thin(s, open);
	s->nr_open--;
}

static void put_run(struct settling *s, uint32_t run, uint32_t parent)
{
	static const uint32_t no_name = NODE_NONE;
	const struct frametree *tree = s->tree;
	const uint32_t *names = &no_name;
	uint32_t nr = 1;

	if (run)
		names = frametree_names(tree, run, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		s->nodes[s->nr] = (struct frametree_node){parent, names[i]};
		for (int c = 0; c < tree->nr_columns; c++)
			weights_set(&s->total[c], s->nr, weights_get(&tree->total[c], run));
		parent = s->nr++;
	}
	MEM_GROW(s->open, s->nr_open, s->open_capacity);
	s->open[s->nr_open++] = (struct open_run){run, parent, has_lost(s, run)};
}

/* What the children of a node leave of its total. */
static void find_self(struct frametree *tree, int c)
{
	struct weights *self = &tree->self[c];

	weights_copy(self, &tree->total[c], tree->nr);
	for (uint32_t i = 1; i < tree->nr; i++)
		weights_sub_other(self, tree->nodes[i].parent, &tree->total[c], i);
}

bool frametree_settle(struct frametree *tree, weight_fx threshold)
{
	struct settling s = {.tree = tree};
	size_t nr;

	s.whole = weight_split(threshold, &s.fraction);
	s.thin = strtab_cstr(&tree->names, THIN_NAME);
	nr = weigh(&s);
	s.nodes = mem_resize(NULL, nr, sizeof(*s.nodes));
	for (int c = 0; c < tree->nr_columns; c++)
		weights_like(&s.total[c], &tree->total[c], nr);
	put_run(&s, 0, NODE_NONE);
	for (uint32_t i = 1; i < tree->nr; i++) {
		struct open_run *open;

		if (i + AHEAD < tree->nr && !is_light(&s, i + AHEAD))
			frametree_prefetch(tree, i + AHEAD);
		if (is_light(&s, i))
			continue;
		while (s.open[s.nr_open - 1].run != tree->runs[i].parent)
			close_run(&s);
		open = &s.open[s.nr_open - 1];
		if (open->lacks_thin && !tree->chart &&
		    tree->rank[tree->pile.ids[tree->runs[i].first]] > tree->rank[s.thin])
			put_thin(&s, open);
		put_run(&s, i, open->node);
	}
	while (s.nr_open)
		close_run(&s);
	free(s.open);
	free(tree->runs);
	free(tree->rank);
	tree->runs = NULL;
	tree->rank = NULL;
	pile_release(&tree->pile);
	for (int c = 0; c < tree->nr_columns; c++) {
		weights_release(&s.lost[c]);
		weights_release(&tree->total[c]);
		tree->total[c] = s.total[c];
	}
	tree->nodes = s.nodes;
	tree->nr = s.nr;
	for (int c = 0; c < tree->nr_columns; c++)
		find_self(tree, c);
	return s.has_thin;
}
