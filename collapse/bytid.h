/*
 * bytid.h - what is kept for each thread of a recording, found by its id.
 *
 * Pieces have one size for the whole table, begin zeroed, and never move.
 * Memory grows with the ids that were met.
 */
#ifndef COLLAPSE_BYTID_H
#define COLLAPSE_BYTID_H

#include "share/arena.h"
#include "share/compat.h"

struct bytid_slot {
	int32_t tid;
	void *piece; /* NULL = empty */
};

struct bytid {
	size_t piece_size;
	struct bytid_slot *slots; /* open addressing, nr_slots a power of two */
	size_t nr_slots, nr;
	struct arena pieces;
};

void bytid_init(struct bytid *table, size_t piece_size);
void bytid_release(struct bytid *table);

/* The piece of the thread, made where it is new. Any number will do as an id. */
NEVER_NULL void *bytid_get(struct bytid *table, int32_t tid);

#endif
