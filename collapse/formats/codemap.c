#include "share/compat.h"
#include "collapse/formats/codemap.h"

#include "share/mem.h"

/*
 * A piece of class n has at most 2^n bytes and so lies in one or two of the
 * buckets that 2^n bytes of addresses make. A bucket is a list of links: index
 * of the piece times 2, plus 1 where the bucket is that of its last byte; plus 1
 * again, so that 0 ends the list.
 */
#define CLASS_MIN 6

void codemap_release(struct codemap *map)
{
	free(map->pieces);
	idmap_release(&map->buckets);
	*map = (struct codemap){0};
}

static unsigned class_of(uint64_t size)
{
	unsigned class = CLASS_MIN;

	while ((uint64_t)1 << class < size)
		class ++;
	return class;
}

static uint64_t bucket_key(uint64_t address, unsigned class)
{
	return (address >> class) << 6 | class;
}

static uint32_t first_link(const struct codemap *map, uint64_t key)
{
	uint32_t link = idmap_get(&map->buckets, key);

	return link == UINT32_MAX ? 0 : link;
}

static uint32_t next_link(const struct codemap *map, uint32_t link)
{
	return map->pieces[(link - 1) / 2].next[(link - 1) % 2];
}

static void unlink_side(struct codemap *map, uint64_t key, uint32_t wanted)
{
	uint32_t link = first_link(map, key), before = 0;

	for (; link && link != wanted; link = next_link(map, link))
		before = link;
	if (!link)
		return;
	if (before)
		map->pieces[(before - 1) / 2].next[(before - 1) % 2] = next_link(map, link);
	else
		idmap_set(&map->buckets, key, next_link(map, link));
}

/* The keys of a piece: one, or two where its last byte lies in the next bucket. */
static size_t keys_of(uint64_t start, uint64_t size, uint64_t keys[2])
{
	unsigned class = class_of(size);

	keys[0] = bucket_key(start, class);
	keys[1] = bucket_key(start + size - 1, class);
	return keys[0] == keys[1] ? 1 : 2;
}

static void remove_piece(struct codemap *map, uint32_t index)
{
	struct codemap_piece *piece = &map->pieces[index];
	uint64_t keys[2];
	size_t nr = keys_of(piece->start, piece->size, keys);

	for (uint32_t side = 0; side < nr; side++)
		unlink_side(map, keys[side], index * 2 + side + 1);
	piece->next[0] = map->free;
	map->free = index + 1;
}

/* Pieces of one class do not overlap, so that lists stay short. */
static void clear_bucket(struct codemap *map, uint64_t key, uint64_t start, uint64_t size)
{
	for (uint32_t link = first_link(map, key), next; link; link = next) {
		const struct codemap_piece *piece = &map->pieces[(link - 1) / 2];

		next = next_link(map, link);
		if (piece->start < start + size && start < piece->start + piece->size)
			remove_piece(map, (link - 1) / 2);
	}
}

bool codemap_add(struct codemap *map, uint64_t start, uint64_t size, uint32_t value)
{
	struct codemap_piece *piece;
	uint64_t keys[2];
	uint32_t index;
	size_t nr;

	if (!size || size > CODEMAP_MAX_SIZE || start >> 57)
		return false;
	nr = keys_of(start, size, keys);
	for (size_t i = 0; i < nr; i++)
		clear_bucket(map, keys[i], start, size);
	index = map->free - 1;
	if (map->free) {
		map->free = map->pieces[index].next[0];
	} else {
		MEM_GROW(map->pieces, map->nr, map->capacity);
		index = (uint32_t)map->nr++;
	}
	piece = &map->pieces[index];
	*piece = (struct codemap_piece){start, size, map->order++, value, {0, 0}};
	for (uint32_t side = 0; side < nr; side++) {
		piece->next[side] = first_link(map, keys[side]);
		idmap_set(&map->buckets, keys[side], index * 2 + side + 1);
	}
	map->classes |= (uint64_t)1 << class_of(size);
	return true;
}

/* The latest piece around the address, or the latest that begins there. */
static uint32_t look_up(const struct codemap *map, uint64_t address, bool is_start)
{
	uint32_t best = CODEMAP_NONE;

	for (uint64_t classes = map->classes; classes; classes &= classes - 1) {
		uint64_t key = bucket_key(address, (unsigned)__builtin_ctzll(classes));

		for (uint32_t link = first_link(map, key); link; link = next_link(map, link)) {
			const struct codemap_piece *piece = &map->pieces[(link - 1) / 2];

			if (is_start ? piece->start != address :
			               address - piece->start >= piece->size)
				continue;
			if (best == CODEMAP_NONE || piece->order > map->pieces[best].order)
				best = (link - 1) / 2;
		}
	}
	return best;
}

uint32_t codemap_find(const struct codemap *map, uint64_t address)
{
	uint32_t index = look_up(map, address, false);

	return index == CODEMAP_NONE ? CODEMAP_NONE : map->pieces[index].value;
}

void codemap_remove(struct codemap *map, uint64_t start)
{
	uint32_t index = look_up(map, start, true);

	if (index != CODEMAP_NONE)
		remove_piece(map, index);
}

bool codemap_move(struct codemap *map, uint64_t from, uint64_t to)
{
	uint32_t index = look_up(map, from, true);
	struct codemap_piece piece;

	if (index == CODEMAP_NONE)
		return false;
	piece = map->pieces[index];
	remove_piece(map, index);
	return codemap_add(map, to, piece.size, piece.value);
}
