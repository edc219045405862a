#include "share/compat.h"
#include "share/strtab.h"

#include "share/mem.h"

static uint64_t word(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t half_word(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t hash_bytes(const void *bytes, size_t size)
{
	const unsigned char *p = bytes;
	uint64_t hash = 0x2545f4914f6cdd1du, tail = 0;
	size_t left = size;

	for (; left >= 8; left -= 8, p += 8)
		hash = hash_u64(word(p), hash);
	/* loads that overlap what was taken cost less than a loop over bytes */
	if (left && size >= 8)
		tail = word(p + left - 8) >> 8 * (8 - left);
	else if (left >= 4)
		tail = half_word(p) | half_word(p + left - 4) << 8 * (left - 4);
	else
		for (size_t i = left; i--;)
			tail = tail << 8 | p[i];
	return hash_u64(tail ^ hash, hash + size + 0x632be59bd9b4e019u);
}

void strtab_release(struct strtab *tab)
{
	free(tab->entries);
	free(tab->slots);
	arena_release(&tab->texts);
	*tab = (struct strtab){0};
}

static void grow(struct strtab *tab)
{
	uint32_t nr_slots = tab->nr_slots ? tab->nr_slots * 2 : 64;
	uint32_t *slots = mem_zalloc((size_t)nr_slots * sizeof(*slots));

	for (uint32_t id = 0; id < tab->nr; id++) {
		uint32_t at = tab->entries[id].hash & (nr_slots - 1);

		while (slots[at])
			at = (at + 1) & (nr_slots - 1);
		slots[at] = id + 1;
	}
	free(tab->slots);
	tab->slots = slots;
	tab->nr_slots = nr_slots;
}

/* The slot that holds the string, or the empty one where it belongs. */
static uint32_t *find(const struct strtab *tab, const char *text, size_t size, uint32_t hash)
{
	uint32_t at = hash & (tab->nr_slots - 1);

	while (tab->slots[at]) {
		const struct strtab_entry *entry = &tab->entries[tab->slots[at] - 1];

		if (entry->hash == hash && entry->size == size &&
		    memcmp(entry->text, text, size) == 0)
			break;
		at = (at + 1) & (tab->nr_slots - 1);
	}
	return &tab->slots[at];
}

uint32_t strtab_id(struct strtab *tab, const char *text, size_t size)
{
	uint32_t hash = (uint32_t)hash_bytes(text, size);
	uint32_t *slot;

	if (tab->nr_slots / 2 <= tab->nr)
		grow(tab);
	slot = find(tab, text, size, hash);
	if (*slot)
		return *slot - 1;
	if (tab->nr == tab->capacity) {
		tab->capacity = tab->capacity ? tab->capacity * 2 : 64;
		tab->entries = mem_resize(tab->entries, tab->capacity, sizeof(*tab->entries));
	}
	tab->entries[tab->nr] = (struct strtab_entry){
	        .text = arena_copy(&tab->texts, text, size),
	        .size = (uint32_t)size,
	        .hash = hash,
	};
	*slot = ++tab->nr;
	return tab->nr - 1;
}

uint32_t strtab_find(const struct strtab *tab, const char *text, size_t size)
{
	if (!tab->nr_slots)
		return UINT32_MAX;
	return *find(tab, text, size, (uint32_t)hash_bytes(text, size)) - 1;
}

int strtab_by_text(const void *a, const void *b, void *tab)
{
	struct slice x = strtab_slice(tab, *(const uint32_t *)a);
	struct slice y = strtab_slice(tab, *(const uint32_t *)b);
	int order = memcmp(x.at, y.at, MIN_OF(x.size, y.size));

	return order ? order : (x.size > y.size) - (x.size < y.size);
}
