/*
 * strtab.h - strings to dense 32-bit ids and back.
 *
 * Equal bytes get equal ids; ids count up from 0 in order of first
 * appearance and stay valid while the table lives. Texts never move.
 */
#ifndef SHARE_STRTAB_H
#define SHARE_STRTAB_H

#include "share/arena.h"
#include "share/compat.h"

struct strtab_entry {
	const char *text; /* NUL-terminated; may hold other NULs too */
	uint32_t size;
	uint32_t hash;
};

struct strtab {
	struct strtab_entry *entries;
	uint32_t nr, capacity;
	uint32_t *slots; /* id + 1, or 0 for empty; nr_slots is a power of two */
	uint32_t nr_slots;
	struct arena texts;
};

/* A zeroed struct strtab is ready to use. */
void strtab_release(struct strtab *tab);

/* Size at most 4 GiB - 1; at most 2^32 - 2 strings. */
uint32_t strtab_id(struct strtab *tab, const char *text, size_t size);

static inline uint32_t strtab_cstr(struct strtab *tab, const char *text)
{
	return strtab_id(tab, text, strlen(text));
}

/* The id if the string is known, else UINT32_MAX. */
uint32_t strtab_find(const struct strtab *tab, const char *text, size_t size);

static inline const char *strtab_text(const struct strtab *tab, uint32_t id)
{
	return tab->entries[id].text;
}

static inline struct slice strtab_slice(const struct strtab *tab, uint32_t id)
{
	return (struct slice){tab->entries[id].text, tab->entries[id].size};
}

/* For qsort_r() over ids, with the table as its argument: by the bytes of the texts. */
int strtab_by_text(const void *a, const void *b, void *tab);

static inline uint64_t hash_u64(uint64_t a, uint64_t b)
{
	unsigned __int128 m =
	        (unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/*
 * A 64-bit hash of bytes; the same on every little-endian machine and run.
 * Multiply-and-fold over 8-byte words, in the family of wyhash (public domain
 * description by Wang Yi); not safe against collisions made on purpose, which
 * cost time only.
 */
uint64_t hash_bytes(const void *bytes, size_t size);

#endif
