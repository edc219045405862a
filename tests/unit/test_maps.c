/* test_maps.c - maps over maps, against an array that knows each page's owner. */
#include "share/compat.h"

#include "collapse/records/maps.h"

#include <criterion/criterion.h>

enum { PAGES = 64, PAGE = 0x1000 };

/* xorshift64, Marsaglia 2003 */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

struct owner {
	uint32_t name;   /* 0 = nobody */
	uint64_t offset; /* of the page in its file */
};

static void check(const struct maps *maps, const struct owner *owners, const char *label)
{
	for (uint64_t page = 0; page < PAGES; page++) {
		uint64_t address = page * PAGE + 5;
		const struct map *map = maps_find(maps, address);
		uint64_t start, end;

		cr_assert(maps_bounds(maps, address, &start, &end) == map, "%s", label);
		cr_assert(start <= address && address < end, "%s: bounds hold the page", label);
		cr_assert(maps_find(maps, start) == map && maps_find(maps, end - 1) == map,
		          "%s: all between the bounds is the same", label);
		cr_assert(map || ((!start || maps_find(maps, start - 1)) &&
		                  (end == UINT64_MAX || maps_find(maps, end))),
		          "%s: a gap ends where something is mapped", label);
		if (!owners[page].name) {
			cr_assert(!map, "%s: page %llu is free", label, (unsigned long long)page);
			continue;
		}
		cr_assert(map, "%s: page %llu is taken", label, (unsigned long long)page);
		cr_assert(map->name == owners[page].name, "%s: page %llu", label,
		          (unsigned long long)page);
		cr_assert(address - map->start + map->pgoff == owners[page].offset + 5,
		          "%s: offset of page %llu", label, (unsigned long long)page);
	}
	for (size_t i = 1; i < maps->nr; i++)
		cr_assert(maps->at[i - 1].end <= maps->at[i].start, "%s: overlap", label);
}

Test(maps, random_against_model)
{
	uint64_t state = 88172645463325252u;

	for (int run = 0; run < 50; run++) {
		struct owner owners[PAGES] = {{0, 0}}, shared[PAGES];
		struct maps *maps = maps_new(), *child = NULL;
		uint64_t version = maps->version;

		for (uint32_t step = 1; step <= 100; step++) {
			uint64_t first = next_random(&state) % PAGES;
			uint64_t nr = 1 + next_random(&state) % (PAGES - first);
			bool is_removed = next_random(&state) % 5 == 0;

			if (step == 50) {
				/* a fork: the child's maps stay as they are now */
				child = maps_share(maps);
				memcpy(shared, owners, sizeof(shared));
			}
			if (is_removed)
				maps_remove(&maps, first * PAGE, (first + nr) * PAGE);
			else
				maps_insert(&maps, &(struct map){.start = first * PAGE,
				                                 .end = (first + nr) * PAGE,
				                                 .pgoff = step * 0x100000,
				                                 .name = step});
			for (uint64_t i = 0; i < nr; i++)
				owners[first + i] = (struct owner){is_removed ? 0 : step,
				                                   step * 0x100000 + i * PAGE};
			cr_assert(maps->version != version, "each change is a new version");
			version = maps->version;
			check(maps, owners, "parent");
			if (child)
				check(child, shared, "child");
		}
		maps_unref(maps);
		maps_unref(child);
	}
}

Test(maps, empty_and_backward_ranges_change_nothing)
{
	struct maps *maps = maps_new();

	maps_insert(&maps, &(struct map){.start = 10, .end = 10});
	maps_insert(&maps, &(struct map){.start = 10, .end = 9});
	maps_remove(&maps, 0, UINT64_MAX);
	cr_assert(maps->nr == 0);
	cr_assert(!maps_find(maps, 10));
	maps_unref(maps);
}
