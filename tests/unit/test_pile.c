/* test_pile.c - distinct stacks of ids and their counts. */
#include "share/compat.h"

#include "render/pile.h"

#include <criterion/criterion.h>

/* "ids:count[:count] ..." of what the pile holds */
static void expect(const struct pile *pile, const char *wanted)
{
	char got[1024] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < pile->nr; i++) {
		const uint32_t *id = pile->ids + pile->first[i];
		struct weights w = {0};

		for (; *id != PILE_END; id++)
			used += (size_t)snprintf(got + used, sizeof(got) - used, "%u", *id);
		weights_resize(&w, 1);
		for (int c = 0; c < pile->nr_columns; c++) {
			char text[WEIGHT_TEXT];

			weights_set(&w, 0, 0);
			pile_count_to(id + 1 + c * COUNT_WORDS, &w, 0);
			weight_format(text, weights_get(&w, 0));
			used += (size_t)snprintf(got + used, sizeof(got) - used, ":%s", text);
		}
		weights_release(&w);
		used += (size_t)snprintf(got + used, sizeof(got) - used, " ");
	}
	cr_assert_str_eq(got, wanted);
}

static void add(struct pile *pile, const uint32_t *ids, size_t nr, bool reverse, double before,
                double after)
{
	weight_fx counts[2] = {(weight_fx)(before * WEIGHT_ONE), (weight_fx)(after * WEIGHT_ONE)};

	pile_add(pile, ids, nr, reverse, counts);
}

Test(pile, equal_stacks_are_one)
{
	static const uint32_t ids[] = {1, 2, 3, 1, 2};
	struct pile pile = {.nr_columns = 2};

	add(&pile, ids, 3, false, 1, 0.5);
	add(&pile, ids, 2, false, 7, 0);
	add(&pile, ids + 3, 2, false, 1, 1);
	add(&pile, ids, 0, false, 2, 0);
	add(&pile, ids, 3, true, 5, 5);
	add(&pile, ids, 3, false, 0.25, 0.75);
	add(&pile, ids, 0, false, 2, 0);
	pile_settle(&pile);
	expect(&pile, "123:1.25:1.25 12:8:1 :4:0 321:5:5 ");
	pile_release(&pile);
}

Test(pile, order_is_kept)
{
	static const uint32_t ids[] = {1, 2, 1};
	struct pile pile = {.nr_columns = 1, .ordered = true};

	add(&pile, ids, 1, false, 1, 0);
	add(&pile, ids, 1, false, 2, 0);
	add(&pile, ids, 2, false, 4, 0);
	add(&pile, ids + 2, 1, false, 8, 0);
	pile_settle(&pile);
	expect(&pile, "1:3 12:4 1:8 ");
	pile_release(&pile);
}

/* Memory is that of the distinct stacks, whatever the order in which they come. */
Test(pile, many)
{
	struct pile pile = {.nr_columns = 1};
	struct weights sum = {0};

	for (uint32_t i = 0; i < 300000; i++) {
		uint32_t ids[] = {i % 7, i % 1000, i % 11};

		add(&pile, ids, 1 + i % 3, false, 1, 0);
		cr_assert_leq(pile.nr, 7 + 7000 + 77000 + PILE_WAITING);
	}
	pile_settle(&pile);
	/* i % 3 says which of them; 3 shares no factor with the others */
	cr_assert_eq(pile.nr, 7 + 7000 + 77000, "%u stacks", pile.nr);
	weights_resize(&sum, 1);
	weights_set(&sum, 0, 0);
	for (uint32_t i = 0; i < pile.nr; i++) {
		const uint32_t *id = pile.ids + pile.first[i];

		while (*id != PILE_END)
			id++;
		pile_count_to(id + 1, &sum, 0);
	}
	cr_assert(weights_get(&sum, 0) == weight_from_u64(300000));
	weights_release(&sum);
	pile_release(&pile);
}
