#include "share/compat.h"
#include "diff/tally.h"

#include "share/mem.h"
#include "share/strtab.h"

static void tally_init(struct tally *tally, const struct join *join)
{
	*tally = (struct tally){.join = join, .nr_runs = join->nr_runs};
}

void tally_release(struct tally *tally)
{
	free(tally->rows);
	free(tally->self);
	free(tally->total);
	free(tally->left_out);
	*tally = (struct tally){0};
}

static size_t add_row(struct tally *tally, struct tally_row row)
{
	size_t size = tally->nr_runs * sizeof(double);

	MEM_GROW(tally->rows, tally->nr, tally->capacity);
	if (tally->weights_capacity < tally->capacity) {
		tally->weights_capacity = tally->capacity;
		tally->self = mem_resize(tally->self, tally->capacity, size);
		tally->total = mem_resize(tally->total, tally->capacity, size);
		tally->left_out = mem_resize(tally->left_out, tally->capacity, sizeof(bool));
	}
	memset(tally->self + tally->nr * tally->nr_runs, 0, size);
	memset(tally->total + tally->nr * tally->nr_runs, 0, size);
	tally->left_out[tally->nr] = false;
	tally->rows[tally->nr] = row;
	return tally->nr++;
}

static void add_weights(const struct tally *tally, double *sums, size_t row, const double *weights)
{
	for (size_t i = 0; i < tally->nr_runs; i++)
		sums[row * tally->nr_runs + i] += weights[i];
}

static void stack_weights(const struct join *join, size_t stack, double *weights)
{
	for (size_t i = 0; i < join->nr_runs; i++)
		weights[i] = weight_to_double(join_weights(join, stack)[i]);
}

void tally_functions(struct tally *tally, const struct join *join)
{
	size_t *rows = mem_zalloc((join->names.nr + 1) * sizeof(*rows));    /* row + 1 by name */
	size_t *counted = mem_zalloc((join->names.nr + 1) * sizeof(*rows)); /* stack + 1 */
	double *weights = mem_alloc((join->nr_runs + 1) * sizeof(*weights));

	tally_init(tally, join);
	for (size_t i = 0; i < join->nr_stacks; i++) {
		const struct join_stack *stack = &join->stacks[i];
		const uint32_t *frames = join->frames + stack->first;

		stack_weights(join, i, weights);
		for (uint32_t j = 0; j < stack->nr_frames; j++) {
			uint32_t name = frames[j];

			if (!rows[name])
				rows[name] = add_row(tally, (struct tally_row){name, 0}) + 1;
			if (counted[name] != i + 1)
				add_weights(tally, tally->total, rows[name] - 1, weights);
			counted[name] = i + 1;
			if (j + 1 == stack->nr_frames)
				add_weights(tally, tally->self, rows[name] - 1, weights);
		}
	}
	free(rows);
	free(counted);
	free(weights);
}

/* ---- paths ---- */

struct path_index {
	uint32_t *slots; /* row + 1 */
	size_t nr_slots;
};

static size_t slot_of(const struct path_index *index, struct tally_row row)
{
	return (size_t)hash_u64(row.parent, row.name) & (index->nr_slots - 1);
}

static void grow_index(struct path_index *index, const struct tally *tally)
{
	free(index->slots);
	index->nr_slots = index->nr_slots ? index->nr_slots * 2 : 1024;
	index->slots = mem_zalloc(index->nr_slots * sizeof(*index->slots));
	for (size_t i = 0; i < tally->nr; i++) {
		size_t at = slot_of(index, tally->rows[i]);

		while (index->slots[at])
			at = (at + 1) & (index->nr_slots - 1);
		index->slots[at] = (uint32_t)i + 1;
	}
}

static size_t find_path(struct path_index *index, struct tally *tally, struct tally_row row)
{
	size_t at;

	if (tally->nr >= index->nr_slots / 2)
		grow_index(index, tally);
	for (at = slot_of(index, row); index->slots[at]; at = (at + 1) & (index->nr_slots - 1)) {
		const struct tally_row *found = &tally->rows[index->slots[at] - 1];

		if (found->parent == row.parent && found->name == row.name)
			return index->slots[at] - 1;
	}
	index->slots[at] = (uint32_t)tally->nr + 1;
	return add_row(tally, row);
}

/* A row that weighs what one of its children weighs has nothing besides it. */
static void leave_out_prefixes(struct tally *tally)
{
	size_t size = tally->nr_runs * sizeof(double);

	for (size_t i = 0; i < tally->nr; i++) {
		size_t parent = tally->rows[i].parent;

		if (parent && memcmp(tally->total + (parent - 1) * tally->nr_runs,
		                     tally->total + i * tally->nr_runs, size) == 0)
			tally->left_out[parent - 1] = true;
	}
}

void tally_paths(struct tally *tally, const struct join *join)
{
	struct path_index index = {0};
	double *weights = mem_alloc((join->nr_runs + 1) * sizeof(*weights));

	tally_init(tally, join);
	for (size_t i = 0; i < join->nr_stacks; i++) {
		const struct join_stack *stack = &join->stacks[i];
		size_t row = SIZE_MAX;

		stack_weights(join, i, weights);
		for (uint32_t j = 0; j < stack->nr_frames; j++) {
			row = find_path(&index, tally,
			                (struct tally_row){join->frames[stack->first + j],
			                                   (uint32_t)(row + 1)});
			add_weights(tally, tally->total, row, weights);
		}
		if (row != SIZE_MAX)
			add_weights(tally, tally->self, row, weights);
	}
	leave_out_prefixes(tally);
	free(index.slots);
	free(weights);
}

void tally_text(const struct tally *tally, size_t row, struct buf *out)
{
	size_t nr = 0, *chain = NULL, capacity = 0;

	for (size_t at = row + 1; at; at = tally->rows[at - 1].parent) {
		MEM_GROW(chain, nr, capacity);
		chain[nr++] = at - 1;
	}
	while (nr) {
		struct slice text = join_shown(tally->join, tally->rows[chain[--nr]].name);

		buf_add(out, text.at, text.size);
		if (nr)
			buf_char(out, ';');
	}
	free(chain);
}
