#include "share/compat.h"
#include "collapse/formats/idmap.h"

#include "share/mem.h"
#include "share/strtab.h"

void idmap_release(struct idmap *map)
{
	free(map->entries);
	*map = (struct idmap){0};
}

/* The key's entry, or the empty one where it belongs. */
static struct idmap_entry *entry_of(const struct idmap *map, uint64_t key)
{
	size_t at = hash_u64(key, 0) & (map->capacity - 1);

	while (map->entries[at].value && map->entries[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->entries[at];
}

uint32_t idmap_get(const struct idmap *map, uint64_t key)
{
	return map->nr ? entry_of(map, key)->value - 1 : UINT32_MAX;
}

static void grow(struct idmap *map)
{
	struct idmap old = *map;

	map->capacity = old.capacity ? old.capacity * 2 : 64;
	map->entries = mem_zalloc(map->capacity * sizeof(*map->entries));
	for (size_t i = 0; i < old.capacity; i++)
		if (old.entries[i].value)
			*entry_of(map, old.entries[i].key) = old.entries[i];
	free(old.entries);
}

void idmap_set(struct idmap *map, uint64_t key, uint32_t value)
{
	struct idmap_entry *entry;

	if ((map->nr + 1) * 2 > map->capacity)
		grow(map);
	entry = entry_of(map, key);
	map->nr += !entry->value;
	*entry = (struct idmap_entry){key, value + 1};
}
