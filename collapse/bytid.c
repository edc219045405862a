#include "share/compat.h"
#include "collapse/bytid.h"

#include "share/mem.h"
#include "share/strtab.h"

void bytid_init(struct bytid *table, size_t piece_size)
{
	*table = (struct bytid){.piece_size = piece_size, .nr_slots = 256};
	table->slots = mem_zalloc(table->nr_slots * sizeof(*table->slots));
}

void bytid_release(struct bytid *table)
{
	free(table->slots);
	arena_release(&table->pieces);
	*table = (struct bytid){0};
}

static struct bytid_slot *slot_of(struct bytid_slot *slots, size_t nr_slots, int32_t tid)
{
	size_t at = hash_u64((uint32_t)tid, 0) & (nr_slots - 1);

	while (slots[at].piece && slots[at].tid != tid)
		at = (at + 1) & (nr_slots - 1);
	return &slots[at];
}

static void grow(struct bytid *table)
{
	size_t nr_slots = table->nr_slots * 2;
	struct bytid_slot *slots = mem_zalloc(nr_slots * sizeof(*slots));

	for (size_t i = 0; i < table->nr_slots; i++)
		if (table->slots[i].piece)
			*slot_of(slots, nr_slots, table->slots[i].tid) = table->slots[i];
	free(table->slots);
	table->slots = slots;
	table->nr_slots = nr_slots;
}

void *bytid_get(struct bytid *table, int32_t tid)
{
	struct bytid_slot *slot = slot_of(table->slots, table->nr_slots, tid);

	if (slot->piece)
		return slot->piece;
	if (++table->nr > table->nr_slots / 2) {
		grow(table);
		slot = slot_of(table->slots, table->nr_slots, tid);
	}
	slot->tid = tid;
	slot->piece = arena_alloc(&table->pieces, table->piece_size);
	memset(slot->piece, 0, table->piece_size);
	return slot->piece;
}
