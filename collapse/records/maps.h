/*
 * maps.h - which module is mapped where, in one address space, now.
 *
 * Intervals sorted by address, never overlapping: a new one takes its place
 * from the old ones, which are cut or split. Address spaces are shared after
 * a fork until one of the two changes.
 */
#ifndef COLLAPSE_MAPS_H
#define COLLAPSE_MAPS_H

#include "collapse/names/module.h"
#include "share/compat.h"

struct map {
	uint64_t start, end; /* end is the first byte behind */
	uint64_t pgoff;
	struct module *module; /* NULL: `name` is all that is known */
	bool is_data;          /* no code: PERF_RECORD_MISC_MMAP_DATA */
	uint32_t name;         /* id in the session's texts, for a KSYMBOL */
};

struct maps {
	struct map *at;
	size_t nr, capacity;
	uint64_t version; /* unlike that of any other contents of any maps */
	uint32_t nr_users;
};

struct maps *maps_new(void);
struct maps *maps_share(struct maps *maps);
void maps_unref(struct maps *maps); /* NULL is fine */

/* Puts `map` in; *maps is replaced by a copy of its own where it is shared. */
void maps_insert(struct maps **maps, const struct map *map);

/* Takes [start, end) out. */
void maps_remove(struct maps **maps, uint64_t start, uint64_t end);

/* Is anything but data mapped in [start, end)? */
bool maps_have_code(const struct maps *maps, uint64_t start, uint64_t end);

/* NULL where nothing is mapped. Valid until the next change. */
const struct map *maps_find(const struct maps *maps, uint64_t address);

/* The same, with the bounds of what was found: of the map or of the gap between two. */
const struct map *maps_bounds(const struct maps *maps, uint64_t address, uint64_t *start,
                              uint64_t *end);

#endif
