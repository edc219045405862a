/*
 * idmap.h - numbers of an input's own choosing to dense ones.
 *
 * Files number their frames, threads and functions as they like: by address,
 * by thread id, from 1 with holes. An idmap turns such a number into the index
 * that its user stored for it. Insert and find only.
 */
#ifndef COLLAPSE_IDMAP_H
#define COLLAPSE_IDMAP_H

#include "share/compat.h"

struct idmap_entry {
	uint64_t key;
	uint32_t value; /* plus 1; 0 = empty */
};

struct idmap {
	struct idmap_entry *entries;
	size_t nr, capacity; /* capacity is a power of two, or 0 */
};

/* A zeroed struct idmap is ready to use. */
void idmap_release(struct idmap *map);

/* The value of the key, or UINT32_MAX. */
uint32_t idmap_get(const struct idmap *map, uint64_t key);

/* Sets or replaces; value below UINT32_MAX. */
void idmap_set(struct idmap *map, uint64_t key, uint32_t value);

#endif
