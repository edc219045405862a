/*
 * codemap.h - which code lies at an address, while code comes, moves and goes.
 *
 * Later code takes the place of what it overlaps. Pieces are found by a hash of
 * address and size class, so that each of these costs a few probes and memory
 * is that of the code alive at once.
 */
#ifndef COLLAPSE_CODEMAP_H
#define COLLAPSE_CODEMAP_H

#include "collapse/formats/idmap.h"
#include "share/compat.h"

#define CODEMAP_NONE UINT32_MAX

/* Sizes above this, and addresses not below 2^57, are refused. */
#define CODEMAP_MAX_SIZE ((uint64_t)1 << 32)

struct codemap_piece {
	uint64_t start, size;
	uint64_t order; /* of arrival: the latest counts */
	uint32_t value;
	uint32_t
	        next[2]; /* in the bucket of its first and of its last byte; [0] in the free list */
};

struct codemap {
	struct codemap_piece *pieces;
	size_t nr, capacity;
	uint32_t free; /* a piece that is not used, plus 1 */
	uint64_t order;
	uint64_t classes;     /* bit n: there have been pieces of up to 2^n bytes */
	struct idmap buckets; /* address and class -> piece and side, see codemap.c */
};

/* A zeroed struct codemap is ready to use. */
void codemap_release(struct codemap *map);

/* value: any but CODEMAP_NONE. false where size or address cannot be. */
bool codemap_add(struct codemap *map, uint64_t start, uint64_t size, uint32_t value);

/* What begins at `from` begins at `to` from now on; false where nothing does. */
bool codemap_move(struct codemap *map, uint64_t from, uint64_t to);

/* Forgets what begins there, if anything does. */
void codemap_remove(struct codemap *map, uint64_t start);

/* The value of the latest code around the address, or CODEMAP_NONE. */
uint32_t codemap_find(const struct codemap *map, uint64_t address);

#endif
