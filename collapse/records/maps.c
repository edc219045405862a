#include "share/compat.h"
#include "collapse/records/maps.h"

#include "share/mem.h"

static uint64_t next_version = 1;

struct maps *maps_new(void)
{
	struct maps *maps = mem_zalloc(sizeof(*maps));

	maps->nr_users = 1;
	maps->version = next_version++;
	return maps;
}

struct maps *maps_share(struct maps *maps)
{
	maps->nr_users++;
	return maps;
}

void maps_unref(struct maps *maps)
{
	if (!maps || --maps->nr_users)
		return;
	free(maps->at);
	free(maps);
}

/* Index of the first map that ends behind the address. */
static size_t first_ending_after(const struct maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->at[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct map *maps_find(const struct maps *maps, uint64_t address)
{
	size_t i = first_ending_after(maps, address);

	return i < maps->nr && maps->at[i].start <= address ? &maps->at[i] : NULL;
}

bool maps_have_code(const struct maps *maps, uint64_t start, uint64_t end)
{
	for (size_t i = first_ending_after(maps, start); i < maps->nr && maps->at[i].start < end;
	     i++)
		if (!maps->at[i].is_data)
			return true;
	return false;
}

const struct map *maps_bounds(const struct maps *maps, uint64_t address, uint64_t *start,
                              uint64_t *end)
{
	size_t i = first_ending_after(maps, address);
	const struct map *next = i < maps->nr ? &maps->at[i] : NULL;

	if (next && next->start <= address) {
		*start = next->start;
		*end = next->end;
		return next;
	}
	*start = i ? maps->at[i - 1].end : 0;
	*end = next ? next->start : UINT64_MAX;
	return NULL;
}

static void make_own(struct maps **maps)
{
	struct maps *old = *maps, *own;

	if (old->nr_users > 1) {
		own = maps_new();
		own->nr = own->capacity = old->nr;
		own->at = mem_resize(NULL, old->nr, sizeof(*own->at));
		if (old->nr)
			memcpy(own->at, old->at, old->nr * sizeof(*own->at));
		maps_unref(old);
		*maps = own;
	}
	(*maps)->version = next_version++;
}

/*
 * Clears [start, end) and, where map is given, puts it there. The maps that
 * reach over an edge keep what is outside of it, so that one may leave two.
 */
static void replace(struct maps *maps, uint64_t start, uint64_t end, const struct map *map)
{
	size_t first = first_ending_after(maps, start), last = first;
	struct map pieces[3];
	size_t nr = 0, nr_old;

	while (last < maps->nr && maps->at[last].start < end)
		last++;
	if (first < last && maps->at[first].start < start) {
		pieces[nr] = maps->at[first];
		pieces[nr++].end = start;
	}
	if (map)
		pieces[nr++] = *map;
	if (first < last && maps->at[last - 1].end > end) {
		pieces[nr] = maps->at[last - 1];
		pieces[nr].pgoff += end - pieces[nr].start;
		pieces[nr++].start = end;
	}
	nr_old = last - first;
	if (!nr && !nr_old)
		return;
	if (maps->nr + nr - nr_old > maps->capacity) {
		maps->capacity = MAX_OF(maps->capacity * 2, (size_t)16);
		maps->at = mem_resize(maps->at, maps->capacity, sizeof(*maps->at));
	}
	memmove(maps->at + first + nr, maps->at + last, (maps->nr - last) * sizeof(*maps->at));
	memcpy(maps->at + first, pieces, nr * sizeof(*pieces));
	maps->nr += nr - nr_old;
}

void maps_insert(struct maps **maps, const struct map *map)
{
	if (map->start >= map->end)
		return;
	make_own(maps);
	replace(*maps, map->start, map->end, map);
}

void maps_remove(struct maps **maps, uint64_t start, uint64_t end)
{
	if (start >= end)
		return;
	make_own(maps);
	replace(*maps, start, end, NULL);
}
