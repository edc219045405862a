#include "share/compat.h"
#include "render/layout.h"

#include "share/mem.h"

/* Thresholds to choose from: 8 steps to each power of two of whole weight. */
#define NR_STEPS (64 * 8 + 1)

static unsigned step_of(uint64_t whole)
{
	unsigned log2;

	if (whole < 8)
		return (unsigned)whole;
	log2 = 63 - (unsigned)__builtin_clzll(whole);
	return log2 * 8 + (unsigned)(whole >> (log2 - 3) & 7);
}

static uint64_t step_start(unsigned step)
{
	return step < 24 ? step % 24 : (uint64_t)(8 + step % 8) << (step / 8 - 3);
}

/*
 * The least threshold, of at least the given one, with which the data block
 * stays below max_size: about five bytes a frame (seven with two columns;
 * measured 4.3 on spliced profiles of 50,000 stacks), and each name once.
 */
static weight_fx fitting_threshold(const struct frametree *tree, weight_fx threshold,
                                   size_t max_size)
{
	unsigned frame_size = tree->nr_columns == 2 ? 7 : 5, step;
	uint32_t nr;
	size_t sizes[NR_STEPS + 1] = {0}, size = 0;
	uint16_t *heaviest = mem_zalloc(((size_t)tree->names.nr + 1) * sizeof(*heaviest));

	for (uint32_t i = 1; i < tree->nr; i++) {
		uint64_t whole = tree->total[0].whole[i];
		const uint32_t *names = frametree_names(tree, i, &nr);

		if (tree->nr_columns == 2)
			whole = MAX_OF(whole, tree->total[1].whole[i]);
		step = step_of(whole);
		sizes[step] += (size_t)nr * frame_size;
		for (uint32_t k = 0; k < nr; k++)
			heaviest[names[k]] = (uint16_t)MAX_OF(heaviest[names[k]], step + 1);
	}
	for (uint32_t i = 0; i < tree->names.nr; i++)
		if (heaviest[i])
			sizes[heaviest[i] - 1] += tree->names.entries[i].size + 6;
	free(heaviest);
	for (step = NR_STEPS; step > 0 && size + sizes[step - 1] <= max_size; step--)
		size += sizes[step - 1];
	return step ? MAX_OF(threshold, weight_from_u64(step_start(step))) : threshold;
}

/* rank[name] = its place in byte order, for the names in use */
static uint32_t *rank_names(const struct frametree *tree, const uint32_t *nodes, uint32_t nr)
{
	uint32_t *rank = mem_zalloc(((size_t)tree->names.nr + 1) * sizeof(*rank));
	uint32_t *used = mem_alloc(((size_t)tree->names.nr + 1) * sizeof(*used));
	uint32_t nr_used = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t name = frametree_name(tree, nodes[i]);

		if (!rank[name]++)
			used[nr_used++] = name;
	}
	qsort_r(used, nr_used, sizeof(*used), strtab_by_text, (void *)&tree->names);
	for (uint32_t i = 0; i < nr_used; i++)
		rank[used[i]] = i;
	free(used);
	return rank;
}

/* Orders nodes by rank of their names (counting sort, stable). */
static void sort_by_rank(const struct frametree *tree, uint32_t *nodes, uint32_t nr)
{
	uint32_t *rank = rank_names(tree, nodes, nr);
	uint32_t *start = mem_zalloc(((size_t)tree->names.nr + 2) * sizeof(*start));
	uint32_t *sorted = mem_alloc(((size_t)nr + 1) * sizeof(*sorted));

	for (uint32_t i = 0; i < nr; i++)
		start[rank[frametree_name(tree, nodes[i])] + 1]++;
	for (uint32_t i = 0; i < tree->names.nr; i++)
		start[i + 1] += start[i];
	for (uint32_t i = 0; i < nr; i++)
		sorted[start[rank[frametree_name(tree, nodes[i])]]++] = nodes[i];
	memcpy(nodes, sorted, nr * sizeof(*nodes));
	free(sorted);
	free(start);
	free(rank);
}

/*
 * A frame's place in preorder is its parent's place, and one, and the sizes
 * of the siblings before it. No step waits for the memory of the step before,
 * as a walk along lists of siblings would.
 */
static void place_frames(struct layout *layout)
{
	const struct frametree *tree = layout->tree;
	uint32_t *nodes = mem_resize(NULL, tree->nr, sizeof(*nodes)); /* by name */
	uint32_t *size = mem_zalloc((size_t)tree->nr * sizeof(*size));
	uint32_t *taken = mem_zalloc((size_t)tree->nr * sizeof(*taken)); /* by children */
	uint32_t *place = mem_zalloc((size_t)tree->nr * sizeof(*place));
	uint32_t nr = 0;

	for (uint32_t i = 1; i < tree->nr; i++)
		if (!frametree_empty(tree, i))
			nodes[nr++] = i;
	for (uint32_t i = nr; i-- > 0;)
		size[tree->nodes[nodes[i]].parent] += ++size[nodes[i]];
	if (!tree->chart)
		sort_by_rank(tree, nodes, nr);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t parent = tree->nodes[nodes[i]].parent;

		/* from the parent's place, until that is known */
		place[nodes[i]] = 1 + taken[parent];
		taken[parent] += size[nodes[i]];
	}
	layout->nr = nr + 1;
	layout->frames = mem_resize(NULL, layout->nr, sizeof(*layout->frames));
	layout->frames[0] = (struct layout_frame){0, 0};
	for (uint32_t i = 1; i < tree->nr; i++) {
		uint32_t above, depth;

		if (!place[i])
			continue;
		above = place[tree->nodes[i].parent];
		depth = layout->frames[above].depth + 1;
		place[i] += above;
		layout->frames[place[i]] = (struct layout_frame){i, depth};
		layout->max_depth = MAX_OF(layout->max_depth, depth);
	}
	free(nodes);
	free(size);
	free(taken);
	free(place);
}

void layout_init(struct layout *layout, struct frametree *tree, weight_fx threshold,
                 size_t max_size)
{
	*layout = (struct layout){.tree = tree};
	if (max_size)
		threshold = fitting_threshold(tree, threshold, max_size);
	if (threshold > 1)
		layout->nr_pruned = frametree_prune(tree, threshold);
	frametree_expand(tree);
	layout->threshold = layout->nr_pruned ? threshold : 0;
	place_frames(layout);
}

void layout_release(struct layout *layout)
{
	free(layout->frames);
	*layout = (struct layout){0};
}

/* ---- positions ---- */

static bool is_gone(const struct frametree *tree, uint32_t node)
{
	return !frametree_total(tree, node, 1);
}

void layout_walk_init(struct layout_walk *walk, const struct layout *layout, int column, bool gone)
{
	const struct frametree *tree = layout->tree;

	*walk = (struct layout_walk){.layout = layout, .column = column};
	walk->cursor = mem_zalloc(((size_t)layout->max_depth + 2) * sizeof(*walk->cursor));
	if (!gone)
		return;
	walk->gone = mem_zalloc((size_t)tree->nr * sizeof(*walk->gone));
	/* a child comes after its parent in preorder */
	for (uint32_t i = layout->nr; i-- > 1;) {
		uint32_t node = layout->frames[i].node;

		if (is_gone(tree, node))
			walk->gone[node] = frametree_total(tree, node, 0);
		if (!is_gone(tree, tree->nodes[node].parent) || !tree->nodes[node].parent)
			walk->gone[tree->nodes[node].parent] += walk->gone[node];
	}
}

void layout_walk_release(struct layout_walk *walk)
{
	free(walk->gone);
	free(walk->cursor);
	*walk = (struct layout_walk){0};
}

bool layout_next(struct layout_walk *walk, weight_fx min_width, struct layout_box *box)
{
	const struct layout *layout = walk->layout;

	while (walk->at < layout->nr) {
		struct layout_frame f = layout->frames[walk->at++];
		weight_fx width = walk->gone ? walk->gone[f.node] :
		                               frametree_total(layout->tree, f.node, walk->column);
		weight_fx start = walk->cursor[f.depth];

		walk->cursor[f.depth] += width;
		walk->cursor[f.depth + 1] = start;
		if (!width || width < min_width) {
			/* no frame is wider than its parent */
			while (walk->at < layout->nr && layout->frames[walk->at].depth > f.depth)
				walk->at++;
			continue;
		}
		*box = (struct layout_box){f.node, f.depth, start, width,
		                           walk->gone && is_gone(layout->tree, f.node)};
		return true;
	}
	return false;
}
