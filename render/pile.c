#include "share/compat.h"
#include "render/pile.h"

#include "share/mem.h"
#include "share/strtab.h"

/* The hash spares a look at stacks that are others. */
struct pile_slot {
	uint32_t hash;
	uint32_t stack; /* + 1, or 0 */
};

void pile_release(struct pile *pile)
{
	free(pile->ids);
	free(pile->first);
	free(pile->slots);
	*pile = (struct pile){0};
}

/* Pairs of ids, mixed with their place and added: no step waits for the one before. */
static uint32_t hash_ids(const uint32_t *ids, size_t nr)
{
	uint64_t hash = nr;

	for (size_t i = 0; i + 2 <= nr; i += 2)
		hash += hash_u64((uint64_t)ids[i + 1] << 32 | ids[i], i);
	if (nr % 2)
		hash += hash_u64(ids[nr - 1], nr);
	return (uint32_t)(hash ^ hash >> 32);
}

static struct pile_slot *first_slot(const struct pile *pile, uint32_t hash)
{
	return &pile->slots[hash & (pile->nr_slots - 1)];
}

static struct pile_slot *next_slot(const struct pile *pile, struct pile_slot *slot)
{
	return slot + 1 == pile->slots + pile->nr_slots ? pile->slots : slot + 1;
}

/* For as many stacks as there are and those that wait. */
static void grow_slots(struct pile *pile)
{
	struct pile_slot *old = pile->slots;
	uint32_t nr_old = pile->nr_slots;

	pile->nr_slots = nr_old ? nr_old * 2 : 1024;
	pile->slots = mem_zalloc((size_t)pile->nr_slots * sizeof(*pile->slots));
	mem_advise_huge(pile->slots, (size_t)pile->nr_slots * sizeof(*pile->slots));
	for (uint32_t i = 0; i < nr_old; i++) {
		struct pile_slot *slot = first_slot(pile, old[i].hash);

		if (!old[i].stack)
			continue;
		while (slot->stack)
			slot = next_slot(pile, slot);
		*slot = old[i];
	}
	free(old);
}

/* Both stacks stand in ids, so both have an end. */
static bool is_same(const struct pile *pile, uint32_t a, uint32_t b)
{
	const uint32_t *x = pile->ids + pile->first[a], *y = pile->ids + pile->first[b];

	while (*x == *y && *x != PILE_END) {
		x++;
		y++;
	}
	return *x == *y;
}

static uint32_t *counts_of(const struct pile *pile, uint32_t stack)
{
	uint32_t *id = pile->ids + pile->first[stack];

	while (*id != PILE_END)
		id++;
	return id + 1;
}

static weight_fx get_count(const uint32_t *count)
{
	return weight_from_u64((uint64_t)count[1] << 32 | count[0]) + count[2];
}

static void put_count(uint32_t *to, weight_fx count)
{
	uint64_t whole = weight_split(count, &to[2]);

	to[0] = (uint32_t)whole;
	to[1] = (uint32_t)(whole >> 32);
}

/* Adds the counts of a stack to those of another. */
static void add_counts(struct pile *pile, uint32_t to, uint32_t stack)
{
	uint32_t *sum = counts_of(pile, to), *more = counts_of(pile, stack);

	for (int c = 0; c < pile->nr_columns; c++, sum += COUNT_WORDS, more += COUNT_WORDS)
		put_count(sum, get_count(sum) + get_count(more));
}

/* The same stack among the settled ones, else PILE_END and the stack is to be `as`. */
static uint32_t find_same(struct pile *pile, uint32_t stack, uint32_t hash, uint32_t as)
{
	struct pile_slot *slot;

	if (pile->ordered)
		return as && is_same(pile, stack, as - 1) ? as - 1 : PILE_END;
	slot = first_slot(pile, hash);
	for (; slot->stack; slot = next_slot(pile, slot))
		if (slot->hash == hash && is_same(pile, slot->stack - 1, stack))
			return slot->stack - 1;
	*slot = (struct pile_slot){hash, as + 1};
	return PILE_END;
}

/* The waiting stacks are looked up together, so that they wait for memory together. */
static void look_up_waiting(struct pile *pile)
{
	uint32_t nr = pile->nr_settled;
	size_t end = nr < pile->nr ? pile->first[nr] : pile->nr_ids;

	for (uint32_t i = nr; i < pile->nr; i++) {
		size_t first = pile->first[i];
		size_t size = (i + 1 < pile->nr ? pile->first[i + 1] : pile->nr_ids) - first;
		uint32_t same = find_same(pile, i, pile->waiting[i - pile->nr_settled], nr);

		if (same != PILE_END) {
			add_counts(pile, same, i);
			continue;
		}
		if (nr != i) {
			memmove(pile->ids + end, pile->ids + first, size * sizeof(*pile->ids));
			pile->first[nr] = (uint32_t)end;
		}
		end += size;
		nr++;
	}
	pile->nr = pile->nr_settled = nr;
	pile->nr_ids = end;
}

static void make_room(struct pile *pile, size_t nr_ids)
{
	while (pile->ids_capacity - pile->nr_ids < nr_ids) {
		pile->ids_capacity += pile->ids_capacity / 2 + 4096;
		pile->ids = mem_resize(pile->ids, pile->ids_capacity, sizeof(*pile->ids));
	}
	if (pile->nr < pile->capacity)
		return;
	pile->capacity += pile->capacity / 2 + 256;
	pile->first = mem_resize(pile->first, pile->capacity, sizeof(*pile->first));
}

void pile_add(struct pile *pile, const uint32_t *ids, size_t nr, bool reverse,
              const weight_fx *counts)
{
	uint32_t *to, hash = hash_ids(ids, nr);
	size_t size = nr + 1 + (size_t)pile->nr_columns * COUNT_WORDS;

	make_room(pile, size);
	to = pile->ids + pile->nr_ids;
	if (reverse)
		for (size_t i = 0; i < nr; i++)
			to[i] = ids[nr - 1 - i];
	else
		memcpy(to, ids, nr * sizeof(*ids));
	to[nr] = PILE_END;
	for (int c = 0; c < pile->nr_columns; c++)
		put_count(to + nr + 1 + c * COUNT_WORDS, counts[c]);
	pile->first[pile->nr] = (uint32_t)pile->nr_ids;
	pile->nr_ids += size;
	if (!pile->ordered) {
		if (pile->nr + PILE_WAITING >= pile->nr_slots / 4 * 3)
			grow_slots(pile);
		__builtin_prefetch(first_slot(pile, hash), 1);
	}
	pile->waiting[pile->nr++ - pile->nr_settled] = hash;
	if (pile->nr - pile->nr_settled == PILE_WAITING)
		look_up_waiting(pile);
}

void pile_settle(struct pile *pile)
{
	look_up_waiting(pile);
	free(pile->slots);
	pile->slots = NULL;
	pile->nr_slots = 0;
}
