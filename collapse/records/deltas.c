#include "share/compat.h"
#include "collapse/records/deltas.h"

#include "share/mem.h"
#include "share/strtab.h"

void deltas_release(struct deltas *deltas)
{
	free(deltas->slots);
	*deltas = (struct deltas){0};
}

static struct deltas_slot *find(const struct deltas *deltas, uint64_t id, int32_t tid)
{
	size_t at = hash_u64(id, (uint32_t)tid) & (deltas->nr_slots - 1);

	while (deltas->slots[at].is_used &&
	       (deltas->slots[at].id != id || deltas->slots[at].tid != tid))
		at = (at + 1) & (deltas->nr_slots - 1);
	return &deltas->slots[at];
}

uint64_t deltas_of(struct deltas *deltas, uint64_t id, int32_t tid, uint64_t value)
{
	struct deltas_slot *slot;
	uint64_t before;

	if (deltas->nr >= deltas->nr_slots / 2) {
		struct deltas old = *deltas;

		deltas->nr_slots = old.nr_slots ? old.nr_slots * 2 : 64;
		deltas->slots = mem_zalloc(deltas->nr_slots * sizeof(*deltas->slots));
		for (size_t i = 0; i < old.nr_slots; i++)
			if (old.slots[i].is_used)
				*find(deltas, old.slots[i].id, old.slots[i].tid) = old.slots[i];
		free(old.slots);
	}
	slot = find(deltas, id, tid);
	if (!slot->is_used) {
		*slot = (struct deltas_slot){.id = id, .tid = tid, .is_used = true};
		deltas->nr++;
	}
	before = slot->value;
	slot->value = value;
	return value >= before ? value - before : 0;
}
