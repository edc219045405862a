/* test_codemap.c - code that comes, moves and goes, against a plain list. */
#include "share/compat.h"

#include "collapse/formats/codemap.h"

#include <criterion/criterion.h>

#define PIECES 64

struct piece {
	uint64_t start, size, order;
	bool is_alive;
};

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static bool holds(const struct piece *piece, uint64_t address)
{
	return piece->is_alive && address - piece->start < piece->size;
}

/* Pieces of one size on a grid that is finer than they are: later ones hide earlier ones. */
Test(codemap, latest_counts)
{
	static const uint64_t sizes[] = {1, 64, 100, 4096, 5000, 1 << 20};

	for (size_t row = 0; row < ARRAY_SIZE(sizes); row++) {
		struct piece pieces[PIECES] = {0};
		struct codemap map = {0};
		uint64_t state = row + 1;

		for (uint64_t step = 0; step < 4000; step++) {
			size_t index = next_random(&state) % PIECES;
			struct piece *piece = &pieces[index];
			uint64_t at =
			        0x7f0000000000 + next_random(&state) % 64 * (sizes[row] / 2 + 1);
			uint32_t want = CODEMAP_NONE;
			uint64_t best = 0;

			/* what overlaps in the same class is gone for good */
			if (piece->is_alive) {
				codemap_remove(&map, piece->start);
				piece->is_alive = false;
			}
			for (size_t i = 0; i < PIECES; i++)
				if (pieces[i].is_alive && pieces[i].start < at + sizes[row] &&
				    at < pieces[i].start + sizes[row])
					pieces[i].is_alive = false;
			cr_assert(codemap_add(&map, at, sizes[row], (uint32_t)index));
			*piece = (struct piece){at, sizes[row], step + 1, true};
			at += next_random(&state) % sizes[row];
			for (size_t i = 0; i < PIECES; i++) {
				if (holds(&pieces[i], at) && pieces[i].order > best) {
					best = pieces[i].order;
					want = (uint32_t)i;
				}
			}
			cr_assert_eq(codemap_find(&map, at), want, "size %zu step %zu",
			             (size_t)sizes[row], (size_t)step);
		}
		cr_assert_leq(map.nr, PIECES + 1, "pieces that are gone are used again");
		codemap_release(&map);
	}
}

Test(codemap, small_over_large)
{
	struct codemap map = {0};

	cr_assert(codemap_add(&map, 0x400000, 0x2000000, 1));
	cr_assert(codemap_add(&map, 0x401000, 100, 2));
	cr_assert_eq(codemap_find(&map, 0x401063), 2);
	cr_assert_eq(codemap_find(&map, 0x401064), 1);
	cr_assert(codemap_move(&map, 0x401000, 0x900001000));
	cr_assert_eq(codemap_find(&map, 0x401063), 1);
	cr_assert_eq(codemap_find(&map, 0x900001063), 2);
	cr_assert_not(codemap_move(&map, 0x401000, 1), "nothing begins there any more");
	codemap_remove(&map, 0x900001000);
	cr_assert_eq(codemap_find(&map, 0x900001000), CODEMAP_NONE);
	codemap_release(&map);
}

Test(codemap, refused)
{
	struct codemap map = {0};

	cr_assert_not(codemap_add(&map, 0x1000, 0, 1));
	cr_assert_not(codemap_add(&map, 0x1000, CODEMAP_MAX_SIZE + 1, 1));
	cr_assert_not(codemap_add(&map, UINT64_MAX - 5, 64, 1));
	cr_assert_eq(codemap_find(&map, UINT64_MAX), CODEMAP_NONE);
	codemap_release(&map);
}
