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

#define AHEAD 32

/* The least step from which on all sizes together fit. */
static unsigned fitting_step(const size_t *sizes, size_t max_size)
{
	unsigned step;

	for (step = NR_STEPS; step > 0 && sizes[step - 1] <= max_size; step--)
		max_size -= sizes[step - 1];
	return step;
}

static unsigned step_of_run(const struct frametree *tree, uint32_t run)
{
	uint64_t whole = tree->total[0].whole[run];

	return step_of(tree->nr_columns == 2 ? MAX_OF(whole, tree->total[1].whole[run]) : whole);
}

/*
 * The least threshold, of at least the given one, with which the data block
 * stays below max_size: about five bytes a frame (seven with two columns;
 * measured 4.3 on spliced profiles of 50,000 stacks), and each name once.
 */
static weight_fx fitting_threshold(const struct frametree *tree, weight_fx threshold,
                                   size_t max_size)
{
	unsigned frame_size = tree->nr_columns == 2 ? 7 : 5, step, least;
	size_t sizes[NR_STEPS + 1] = {0};
	uint16_t *heaviest;

	for (uint32_t i = 1; i < tree->nr; i++)
		sizes[step_of_run(tree, i)] += (size_t)tree->runs[i].nr * frame_size;
	/* names make it more, so what is too light without them need not be looked at */
	least = fitting_step(sizes, max_size);
	heaviest = mem_zalloc((size_t)tree->names.nr * sizeof(*heaviest));
	for (uint32_t i = 1; i < tree->nr; i++) {
		const uint32_t *names;
		uint32_t nr;

		if (i + AHEAD < tree->nr)
			frametree_prefetch(tree, i + AHEAD);
		step = step_of_run(tree, i);
		if (step < least)
			continue;
		names = frametree_names(tree, i, &nr);
		for (uint32_t k = 0; k < nr; k++)
			heaviest[names[k]] = (uint16_t)MAX_OF(heaviest[names[k]], step + 1);
	}
	for (uint32_t i = 0; i < tree->names.nr; i++)
		if (heaviest[i])
			sizes[heaviest[i] - 1] += tree->names.entries[i].size + 6;
	free(heaviest);
	step = fitting_step(sizes, max_size);
	return step ? MAX_OF(threshold, weight_from_u64(step_start(step))) : threshold;
}

void layout_init(struct layout *layout, struct frametree *tree, weight_fx threshold,
                 size_t max_size)
{
	*layout = (struct layout){.tree = tree};
	if (max_size)
		threshold = fitting_threshold(tree, threshold, max_size);
	layout->is_pruned = frametree_settle(tree, threshold);
	layout->threshold = layout->is_pruned ? threshold : 0;
	layout->nr = tree->nr;
	layout->frames = mem_resize(NULL, layout->nr, sizeof(*layout->frames));
	layout->frames[0] = (struct layout_frame){0, 0};
	for (uint32_t i = 1; i < layout->nr; i++) {
		uint32_t depth = layout->frames[tree->nodes[i].parent].depth + 1;

		layout->frames[i] = (struct layout_frame){i, depth};
		layout->max_depth = MAX_OF(layout->max_depth, depth);
	}
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
