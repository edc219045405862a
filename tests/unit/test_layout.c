/* test_layout.c - merging, exact sums, pruning and positions of frames. */
#include "share/compat.h"

#include "render/layout.h"
#include "share/mem.h"

#include <criterion/criterion.h>

static struct err err;

static void add(struct frametree *tree, const char *stack, double count, double after)
{
	struct folded_stack s = {{stack, strlen(stack)}, {0}};

	s.counts[0] = (weight_fx)(count * WEIGHT_ONE);
	s.counts[1] = (weight_fx)(after * WEIGHT_ONE);
	cr_assert_eq(frametree_add(tree, &s, &err), 0, "%s: %s", stack, err.text);
}

/* "depth name start+width; ..." in the order of the walk */
static char *drawn(struct frametree *tree, int column, bool gone, weight_fx threshold)
{
	struct layout layout;
	struct layout_walk walk;
	struct layout_box box;
	struct buf text = {0};
	char start[WEIGHT_TEXT], width[WEIGHT_TEXT];

	frametree_build(tree);
	layout_init(&layout, tree, threshold, 0);
	layout_walk_init(&walk, &layout, column, gone);
	while (layout_next(&walk, 1, &box)) {
		struct slice name = {"all", 3};

		if (box.node)
			name = strtab_slice(&tree->names, frametree_name(tree, box.node));
		weight_format(start, box.start);
		weight_format(width, box.width);
		buf_printf(&text, "%u %.*s %s+%s; ", box.depth, (int)name.size, name.at, start,
		           width);
	}
	layout_walk_release(&walk);
	layout_release(&layout);
	frametree_release(tree);
	return buf_text(&text);
}

static void begin(struct frametree *tree, int columns)
{
	*tree = (struct frametree){0};
	frametree_begin(tree, columns);
}

#define EXPECT(got, wanted)                                                                        \
	do {                                                                                       \
		char *text = (got);                                                                \
		cr_assert_str_eq(text, wanted, "got %s", text);                                    \
		free(text);                                                                        \
	} while (0)

Test(layout, merges_and_orders_by_name)
{
	struct frametree tree;

	begin(&tree, 1);
	add(&tree, "b;x", 3, 0);
	add(&tree, "a;z", 1, 0);
	add(&tree, "a;y", 2, 0);
	add(&tree, ";;a;;y;", 2, 0);
	EXPECT(drawn(&tree, 0, false, 1),
	       "0 all 0+8; 1 a 0+5; 2 y 0+4; 2 z 4+1; 1 b 5+3; 2 x 5+3; ");
}

Test(layout, own_weight_stays_empty_behind_children)
{
	struct frametree tree;

	begin(&tree, 1);
	add(&tree, "root", 75, 0);
	add(&tree, "root;child", 25, 0);
	EXPECT(drawn(&tree, 0, false, 1), "0 all 0+100; 1 root 0+100; 2 child 0+25; ");
}

Test(layout, fractions_are_exact)
{
	struct frametree tree;

	begin(&tree, 1);
	for (int i = 0; i < 10; i++)
		add(&tree, "a;b", 0.1, 0);
	add(&tree, "a;c", 2, 0);
	EXPECT(drawn(&tree, 0, false, 1), "0 all 0+3; 1 a 0+3; 2 b 0+1; 2 c 1+2; ");
}

Test(layout, what_is_light_is_gathered)
{
	struct frametree tree;

	begin(&tree, 1);
	add(&tree, "a;b;c", 1, 0);
	add(&tree, "a;b;d", 2, 0);
	add(&tree, "a;e", 9, 0);
	add(&tree, "f", 1, 0);
	EXPECT(drawn(&tree, 0, false, weight_from_u64(4)),
	       "0 all 0+13; 1 [thin frames] 0+1; 1 a 1+12; 2 [thin frames] 1+3; 2 e 4+9; ");
}

/* Among its siblings by name, behind a real frame of its name; last in a flame chart. */
Test(layout, place_of_what_is_light)
{
	struct frametree tree;

	begin(&tree, 1);
	add(&tree, "m;Z", 9, 0);
	add(&tree, "m;[thin frames]", 8, 0);
	add(&tree, "m;a", 1, 0);
	add(&tree, "m;b;x;y", 1, 0);
	add(&tree, "m;b;x;z", 1, 0);
	add(&tree, "m;c", 7, 0);
	add(&tree, "m;none", 0, 0);
	EXPECT(drawn(&tree, 0, false, weight_from_u64(4)),
	       "0 all 0+27; 1 m 0+27; 2 Z 0+9; 2 [thin frames] 9+8; 2 [thin frames] 17+3; "
	       "2 c 20+7; ");
	tree = (struct frametree){.chart = true};
	frametree_begin(&tree, 1);
	add(&tree, "m;a", 1, 0);
	add(&tree, "m;c", 7, 0);
	add(&tree, "m", 1, 0);
	add(&tree, "m;c", 7, 0);
	EXPECT(drawn(&tree, 0, false, weight_from_u64(4)),
	       "0 all 0+16; 1 m 0+16; 2 c 0+7; 2 c 7+7; 2 [thin frames] 14+1; ");
}

Test(layout, nothing_but_empty_stacks)
{
	struct frametree tree;

	begin(&tree, 1);
	add(&tree, ";", 2, 0);
	EXPECT(drawn(&tree, 0, false, 1), "0 all 0+2; ");
	begin(&tree, 1);
	EXPECT(drawn(&tree, 0, false, 1), "");
}

Test(layout, reverse_chart_base)
{
	static const char *const base[] = {"b"};
	struct frametree tree;

	begin(&tree, 1);
	tree.reverse = true;
	add(&tree, "a;b;c", 1, 0);
	EXPECT(drawn(&tree, 0, false, 1), "0 all 0+1; 1 c 0+1; 2 b 0+1; 3 a 0+1; ");
	tree = (struct frametree){.chart = true};
	frametree_begin(&tree, 1);
	add(&tree, "z;b", 1, 0);
	add(&tree, "z;a", 1, 0);
	add(&tree, "z;b", 1, 0);
	EXPECT(drawn(&tree, 0, false, 1), "0 all 0+3; 1 z 0+3; 2 b 0+1; 2 a 1+1; 2 b 2+1; ");
	tree = (struct frametree){.base = base, .nr_base = 1};
	frametree_begin(&tree, 1);
	add(&tree, "a;b;c", 1, 0);
	add(&tree, "a;c", 1, 0);
	cr_assert_eq(tree.nr_outside, 1);
	EXPECT(drawn(&tree, 0, false, 1), "0 all 0+1; 1 b 0+1; 2 c 0+1; ");
}

Test(layout, gone_frames_have_a_walk_of_their_own)
{
	struct frametree tree;

	begin(&tree, 2);
	add(&tree, "a;old;x", 4, 0);
	add(&tree, "a;stays", 5, 6);
	add(&tree, "a;new", 0, 7);
	EXPECT(drawn(&tree, 0, true, 1), "0 all 0+4; 1 a 0+4; 2 old 0+4; 3 x 0+4; ");
	begin(&tree, 2);
	add(&tree, "a;old", 4, 0);
	add(&tree, "a;stays", 5, 6);
	EXPECT(drawn(&tree, 1, false, 1), "0 all 0+6; 1 a 0+6; 2 stays 0+6; ");
}

Test(layout, more_stacks_than_one_batch)
{
	struct frametree tree;
	char stack[64];

	begin(&tree, 1);
	for (int i = 0; i < 100000; i++) {
		snprintf(stack, sizeof(stack), "m;f%d;g%d", i % 7, i % 1000);
		add(&tree, stack, 1, 0);
	}
	frametree_build(&tree);
	frametree_settle(&tree, 1);
	/* the root, m, 7 callers, and 7,000 pairs, as 7 and 1,000 share no factor */
	cr_assert_eq(tree.nr, 1 + 1 + 7 + 7000, "%u nodes", tree.nr);
	cr_assert_eq(frametree_total(&tree, 0, 0), weight_from_u64(100000));
	frametree_release(&tree);
}

/* Stacks that leave each other at every depth, in either order, with fractions and ends midway. */
Test(layout, chains_give_way)
{
	static const char *const stacks[] = {"a;b;c;d", "a;b;x;y",   "a;b;c;d",
	                                     "a;b",     "a;b;c;d;e", "q"};
	const char *wanted = "0 all 0+22.5; 1 a 0+21; 2 b 0+21; 3 c 0+14.5; 4 d 0+14.5; 5 e 0+5; "
	                     "3 x 14.5+2.5; 4 y 14.5+2.5; 1 q 21+1.5; ";
	const double counts[] = {4.5, 2.5, 5, 4, 5, 1.5};

	for (size_t turn = 0; turn < ARRAY_SIZE(stacks); turn++) {
		struct frametree tree;

		begin(&tree, 1);
		for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
			size_t at = (turn + i) % ARRAY_SIZE(stacks);
			add(&tree, stacks[at], counts[at], 0);
		}
		EXPECT(drawn(&tree, 0, false, 1), wanted);
	}
}

/* What has no weight at all is left out, which loses nothing and makes no thin frame. */
Test(layout, frames_of_no_weight_are_no_thin_ones)
{
	struct frametree tree;
	struct layout layout;

	begin(&tree, 1);
	add(&tree, "a;b", 100, 0);
	add(&tree, "a;c", 0, 0);
	frametree_build(&tree);
	layout_init(&layout, &tree, weight_from_u64(10), 0);
	cr_assert_eq(layout.nr, 3, "%u frames", layout.nr);
	cr_assert_not(layout.is_pruned);
	cr_assert_eq(layout.threshold, 0);
	layout_release(&layout);
	frametree_release(&tree);
}

Test(layout, sum_beyond_64_bits_is_refused)
{
	struct frametree tree;
	struct folded_stack s = {{"a", 1}, {weight_from_u64(UINT64_MAX), 0}};

	begin(&tree, 1);
	cr_assert_eq(frametree_add(&tree, &s, &err), 0);
	cr_assert_eq(frametree_add(&tree, &s, &err), -1);
	frametree_release(&tree);
}
