/*
 * arena.h - many small allocations, released together.
 *
 * Pieces never move and are never freed alone. arena_reset() keeps one block
 * for reuse, which suits scratch space of one sample.
 */
#ifndef SHARE_ARENA_H
#define SHARE_ARENA_H

#include "share/compat.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	char *free, *end;           /* unused part of the newest block */
	size_t block_size;          /* 0: a default of 64 KiB */
	size_t total_size;          /* bytes in all blocks */
};

/* A zeroed struct arena is ready to use. */
void arena_release(struct arena *arena);
void arena_reset(struct arena *arena);

/* Aligned to 8; contents undefined. Never NULL. */
void *arena_alloc(struct arena *arena, size_t size);

/* Copies the bytes and adds a NUL behind them. No alignment. */
char *arena_copy(struct arena *arena, const void *bytes, size_t size);

#endif
